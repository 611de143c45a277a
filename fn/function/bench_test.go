package function_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/channel"
	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// readyRequest is the request for a Ready tenant, as bytes on the wire.
func readyRequest(b *testing.B) []byte {
	b.Helper()
	e := crossplanetest.New(b, `{"argocd":{"values":{"dex":{"enabled":false},"server":{"replicas":1}}}}`, "").Install()
	raw, err := proto.Marshal(e.Request)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// BenchmarkRunFunction is a whole call for a Ready tenant: decode the request,
// run the function, encode the response.
func BenchmarkRunFunction(b *testing.B) { call(b, readyRequest(b)) }

// BenchmarkChannel is the same for a channel with 7,000 tenants, whose records have 2 KiB each.
func BenchmarkChannel(b *testing.B) {
	fleet := crossplanetest.ReadyFleet(b, 1, crossplanetest.InSteps)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	fleet.Channels["stable"].Reconcile()
	req := fleet.Channels["stable"].Request
	records := req.GetRequiredResources()[channel.RequiredRecords]
	one := records.GetItems()[0]
	for len(records.GetItems()) < 7000 {
		r := proto.Clone(one).(*fnv1.Resource)
		id := fmt.Sprintf("tenant%04d", len(records.GetItems()))
		meta := crossplanetest.Field(r.GetResource(), "metadata")
		meta.Fields["name"] = structpb.NewStringValue(id + "-channel")
		meta.Fields["ownerReferences"] = crossplanetest.JSON(`[{"uid":"` + id + `","controller":true}]`)
		data := crossplanetest.Field(r.GetResource(), "data").GetFields()
		data[tenant.RecordKey] = structpb.NewStringValue(strings.ReplaceAll(data[tenant.RecordKey].GetStringValue(), `"c0"`, `"`+id+`"`))
		meta.Fields["managedFields"] = structpb.NewStringValue(strings.Repeat("f", 2048-proto.Size(one)))
		records.Items = append(records.Items, r)
	}
	raw, err := proto.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	call(b, raw)
	b.ReportMetric(float64(len(raw))/(1<<20), "MiB/request")
}

func call(b *testing.B, raw []byte) {
	b.Helper()
	f := function.New(logging.NewNopLogger(), time.Now)
	b.ReportAllocs()
	for b.Loop() {
		req := &fnv1.RunFunctionRequest{}
		if err := proto.Unmarshal(raw, req); err != nil {
			b.Fatal(err)
		}
		rsp, err := f.RunFunction(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		if crossplanetest.Fatal(rsp) != "" {
			b.Fatal(crossplanetest.Fatal(rsp))
		}
		if _, err := proto.Marshal(rsp); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloor is what no function can do without: decode the same request,
// encode the same response, nothing between.
func BenchmarkFloor(b *testing.B) {
	raw := readyRequest(b)
	first := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(raw, first); err != nil {
		b.Fatal(err)
	}
	rsp, err := function.New(logging.NewNopLogger(), time.Now).RunFunction(b.Context(), first)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := &fnv1.RunFunctionRequest{}
		if err := proto.Unmarshal(raw, req); err != nil {
			b.Fatal(err)
		}
		if _, err := proto.Marshal(rsp); err != nil {
			b.Fatal(err)
		}
	}
}
