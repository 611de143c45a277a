package kube

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Forward connects to a port of a pod, whatever NetworkPolicies say: the node makes the connection, inside the pod.
func (c *Cluster) Forward(namespace, pod string, port int) (net.Conn, error) {
	return forward(c, namespace, pod, port)
}

// forward opens one connection to a port of a pod through the API server's port-forward.
func forward(c *Cluster, namespace, pod string, port int) (net.Conn, error) {
	transport, upgrader, err := spdy.RoundTripperFor(c.Config)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare port-forward: %w", err)
	}
	url := c.Typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	conn, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url).
		Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("cannot port-forward to pod %s/%s: %w", namespace, pod, err)
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	// The protocol wants the error stream first. What arrives on it also ends the data stream, so nobody reads it.
	errors, err := conn.CreateStream(headers)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("cannot open error stream to pod %s/%s: %w", namespace, pod, err)
	}
	_ = errors.Close()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("cannot open stream to pod %s/%s: %w", namespace, pod, err)
	}
	return &forwarded{Stream: data, conn: conn, to: pod}, nil
}

// forwarded makes a port-forward stream a net.Conn. Deadlines are not supported: the tests bound calls by context.
type forwarded struct {
	httpstream.Stream
	conn httpstream.Connection
	to   string
}

func (f *forwarded) Close() error {
	_ = f.Stream.Reset()
	return f.conn.Close()
}

func (f *forwarded) LocalAddr() net.Addr              { return address("port-forward") }
func (f *forwarded) RemoteAddr() net.Addr             { return address(f.to) }
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
