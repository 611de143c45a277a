package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// address is the environment variable with the address of a function that TestMain serves in place of the tests.
const address = "TEST_FUNCTION_ADDRESS"

func TestMain(m *testing.M) {
	at := os.Getenv(address)
	if at == "" {
		os.Exit(m.Run())
	}
	err := (&Serve{Network: "tcp", Address: at, Insecure: true, MaxRecvMessageSize: 16}).Run(context.Background(), logging.NewNopLogger())
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// wide are requests that become much larger than they are, or are as large as a claim's author can have them.
func wide(t *testing.T) map[string]*fnv1.RunFunctionRequest {
	t.Helper()
	const secrets = 5
	var clusters []string
	for i := range secrets {
		clusters = append(clusters, fmt.Sprintf(`{"name":"c%d","secretRef":{"name":"s%d"}}`, i, i))
	}
	of := `"clusters":[` + strings.Join(clusters, ",") + `]`
	named := func(keys int, value string, managed bool) *fnv1.RunFunctionRequest {
		e := crossplanetest.New(t, `{`+of+`}`, "")
		data, fields := map[string]string{}, map[string]*structpb.Value{}
		for i := range keys {
			key := keyOf(i)
			data[key] = value
			fields["f:"+key] = structpb.NewStructValue(&structpb.Struct{})
		}
		for i := range secrets {
			name := fmt.Sprintf("s%d", i)
			e.AddSecret(name, "Opaque", data)
			e.LabelSecret(name, nil)
			if managed {
				entry := &structpb.Struct{Fields: map[string]*structpb.Value{"f:data": structpb.NewStructValue(&structpb.Struct{Fields: fields})}}
				crossplanetest.Field(e.Cluster["Secret/"+crossplanetest.Namespace+"/"+name], "metadata").Fields["managedFields"] = structpb.NewListValue(&structpb.ListValue{
					Values: []*structpb.Value{structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"fieldsV1": structpb.NewStructValue(entry)}})},
				})
			}
		}
		e.Reconcile()
		return e.Request
	}
	claim := func(values string) *fnv1.RunFunctionRequest {
		e := crossplanetest.New(t, `{}`, "")
		e.SetSpec(`{"argocd":{"values":{"a":` + values + `}}}`)
		e.Reconcile()
		return e.Request
	}
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	members := func(n int) string {
		b := &strings.Builder{}
		for i := range n {
			fmt.Fprintf(b, `,"%s":{}`, keyOf(i))
		}
		return "{" + b.String()[1:] + "}"
	}
	// etcd stores at most 1.5 MiB of an object, as JSON.
	return map[string]*fnv1.RunFunctionRequest{
		"KeysOfSecrets": named(160_000, "", false), "KeysAndManagedFields": named(73_000, "", true), "LargeSecrets": named(1, strings.Repeat("x", 1<<20), false),
		"Maps": claim(list(490_000, "{}")), "Numbers": claim(list(700_000, "0")),
		"Members": claim(members(160_000)), "Pairs": claim(list(160_000, `{"":{}}`)), "Text": claim(`"` + strings.Repeat("x", 1400<<10) + `"`),
	}
}

// keyOf returns one of many short keys that a Secret can have.
func keyOf(i int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	key := []byte{}
	for ; i > 0 || len(key) == 0; i /= len(letters) {
		key = append(key, letters[i%len(letters)])
	}
	return string(key)
}

// TestMemoryOfManyCalls: whatever claims' authors write, and however many of them, the function takes less memory than its limit in
// examples/install/runtime.yaml, and answers all calls.
func TestMemoryOfManyCalls(t *testing.T) {
	runtime := string(crossplanetest.Must(os.ReadFile("../examples/install/runtime.yaml")))
	_, function, _ := strings.Cut(runtime, "name: virtual-argocd-function")
	soft := regexp.MustCompile(`GOMEMLIMIT(?s:.*?)value: (\S+)`).FindStringSubmatch(function)[1]
	limit := crossplanetest.Must(strconv.Atoi(regexp.MustCompile(`memory: (\d+)Mi\n---`).FindStringSubmatch(function)[1])) << 10
	for name, req := range wide(t) {
		t.Run(name, func(t *testing.T) {
			raw := crossplanetest.Must(proto.Marshal(req))
			// As many as ended it, when they didn't wait for each other. Large texts take no time.
			calls := 8
			if strings.Contains(name, "Text") || name == "LargeSecrets" {
				calls = 60
			}
			pid, conn := served(t, soft)
			at := peak(t, pid)
			began := time.Now()
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					var out []byte
					if err := conn.Invoke(t.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, raw, &out); err != nil {
						t.Errorf("%.300s", err)
					}
				})
			}
			all.Wait()
			got := peak(t, pid)
			t.Logf("%d calls of %d KiB took %d kB of memory, %d before, in %s", calls, len(raw)>>10, got, at, time.Since(began).Round(time.Millisecond))
			if got > limit {
				t.Errorf("the function took %d kB, and its limit is %d", got, limit)
			}
		})
	}
}

// served serves the function in a process of its own, and returns that and a connection for messages that are encoded already.
func served(t *testing.T, soft string) (pid int, conn *grpc.ClientConn) {
	t.Helper()
	listener := crossplanetest.Must(net.Listen("tcp", "127.0.0.1:0"))
	at := listener.Addr().String()
	_ = listener.Close()
	var log bytes.Buffer
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), address+"="+at, "GOMEMLIMIT="+soft)
	process.Stdout, process.Stderr = &log, &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(encoded{}), grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = process.Process.Kill()
		_ = process.Wait()
		if t.Failed() {
			t.Logf("%.2000s", log.String())
		}
	})
	var out []byte
	if err := conn.Invoke(t.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, crossplanetest.Must(proto.Marshal(&fnv1.RunFunctionRequest{})), &out); err != nil {
		t.Fatal(err)
	}
	return process.Process.Pid, conn
}

// peak returns the most memory that a process has taken, in kB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status := string(crossplanetest.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))))
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(status)
	if found == nil {
		t.Fatalf("the function has ended: %s", status)
	}
	return crossplanetest.Must(strconv.Atoi(found[1]))
}

// encoded is the codec of messages that are encoded already.
type encoded struct{}

func (encoded) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (encoded) Unmarshal(raw []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(raw)
	return nil
}

func (encoded) Name() string { return "proto" }
