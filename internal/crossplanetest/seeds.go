package crossplanetest

import (
	"cmp"
	"os"
	"strconv"
)

// Seeds is how many random cases a test tries: n times the number in the variable SEEDS. `make e2e-full` sets that to 10.
func Seeds(n uint64) uint64 {
	return n * Must(strconv.ParseUint(cmp.Or(os.Getenv("SEEDS"), "1"), 10, 32))
}
