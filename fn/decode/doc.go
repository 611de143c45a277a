// Package decode turns a RunFunctionRequest into what the rest of the function
// works on. It reads the request's protobuf structs in place: turning every
// observed object into a Go type first costs more than all the rest.
package decode
