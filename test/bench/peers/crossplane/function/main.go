// Program function composes the ConfigMaps that the benchmark beside other tools asks for. In Crossplane a function decides which objects
// there are; this one does no more than that, so that what is measured is Crossplane.
//
//	function ADDRESS CERTIFICATE KEY
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// responseTTL is how long an answer holds, after which Crossplane asks again. It is what functions say that are made with Crossplane's SDK, where
// they say nothing else.
const responseTTL = time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until it is told to end. The certificate is for TLS, without which Crossplane asks no function.
func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("wanted ADDRESS CERTIFICATE KEY, found %q", args)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	secured, err := credentials.NewServerTLSFromFile(args[1], args[2])
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", args[0])
	if err != nil {
		return fmt.Errorf("listening on %s: %w", args[0], err)
	}
	server := grpc.NewServer(grpc.Creds(secured))
	fnv1.RegisterFunctionRunnerServiceServer(server, composer{})
	defer context.AfterFunc(ctx, server.Stop)()
	return server.Serve(listener)
}

// composer implements Crossplane's service for functions.
type composer struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction gives the ConfigMaps of one resource: three, or a chain of as many as the input has in links.
func (composer) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	resource := req.GetObserved().GetComposite().GetResource().GetFields()
	name := resource["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
	input := req.GetInput().GetFields()
	var children map[string]*fnv1.Resource
	var err error
	if links := int(input["links"].GetNumberValue()); links > 0 {
		children, err = chain(name, links, req.GetObserved().GetResources())
	} else {
		children, err = three(name, resource["spec"].GetStructValue().GetFields()["host"].GetStringValue(), input["text"].GetStringValue())
	}
	if err != nil {
		return nil, err
	}
	return &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(responseTTL)},
		Desired: &fnv1.State{Resources: children},
	}, nil
}

// three are the ConfigMaps that each contestant makes.
func three(name, host, text string) (map[string]*fnv1.Resource, error) {
	all := map[string]*fnv1.Resource{}
	for id, data := range map[string]map[string]any{"a": {"host": host}, "b": {"a": text}, "c": {"c": "d"}} {
		child, err := configMap(name+"-"+id, data)
		if err != nil {
			return nil, err
		}
		all[id] = child
	}
	return all, nil
}

// chain has each ConfigMap wait for the one before it, and hold its UID.
func chain(name string, links int, observed map[string]*fnv1.Resource) (map[string]*fnv1.Resource, error) {
	all := map[string]*fnv1.Resource{}
	data := map[string]any{}
	for i := range links {
		id := fmt.Sprintf("n%d", i)
		child, err := configMap(fmt.Sprintf("%s-%d", name, i), data)
		if err != nil {
			return nil, err
		}
		all[id] = child
		uid := observed[id].GetResource().GetFields()["metadata"].GetStructValue().GetFields()["uid"].GetStringValue()
		if uid == "" {
			break
		}
		data = map[string]any{"before": uid}
	}
	return all, nil
}

// configMap is ready as soon as it is there, as for every contestant.
func configMap(name string, data map[string]any) (*fnv1.Resource, error) {
	object, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
	})
	if err != nil {
		return nil, fmt.Errorf("making the ConfigMap %s: %w", name, err)
	}
	return &fnv1.Resource{Resource: object, Ready: fnv1.Ready_READY_TRUE}, nil
}
