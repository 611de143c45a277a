package node

import (
	"fmt"
	"os"
	"os/exec"
)

// The processes of a cluster run this same program, under another name. That is
// decided here, before main: so a cluster starts alike from the lab command and
// from a test. Each role is told the file of the cluster's record.
var roles = map[string]func(*record) error{
	"vargo-init":      runInit,
	"vargo-artifacts": runArtifacts,
	"vargo-node":      runNode,
}

func init() {
	role, ok := roles[os.Args[0]]
	if !ok {
		return
	}
	if err := playRole(role); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func playRole(role func(*record) error) error {
	if len(os.Args) != 2 {
		return fmt.Errorf("cannot run by hand: it is part of `lab up`")
	}
	// The record is complete when whoever started this closes its standard input.
	if err := waitForEnd(os.Stdin); err != nil {
		return err
	}
	r, err := readRecord(os.Args[1])
	if err == nil && r == nil {
		err = fmt.Errorf("cannot find the record of the cluster, %s", os.Args[1])
	}
	if err != nil {
		return err
	}
	return role(r)
}

// roleCommand runs this program in a role.
func roleCommand(role, record string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{role, record}
	return cmd
}
