package kube

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// Exec runs a command in a container, with an input and two places for its output.
func (c *Cluster) Exec(ctx context.Context, namespace, pod, container string, command []string, in io.Reader, out, problem io.Writer) error {
	request := c.Typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdin: in != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	// Over SPDY an input that ends at once can be lost on a busy machine.
	executor, err := remotecommand.NewWebSocketExecutor(c.Config, "GET", request.URL().String())
	if err != nil {
		return fmt.Errorf("cannot run a command in pod %s/%s: %w", namespace, pod, err)
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: problem})
}
