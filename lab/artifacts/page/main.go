// Command page serves the files of a folder, and for all other paths asks another server, so that a page can read both.
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatalf("usage: %s <address to listen on> <folder> <URL of the other server>", os.Args[0])
	}
	folder := os.Args[2]
	other, err := url.Parse(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	files, others := http.FileServer(http.Dir(folder)), httputil.NewSingleHostReverseProxy(other)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(folder, path.Clean("/"+r.URL.Path))); err != nil {
			others.ServeHTTP(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}
	server := &http.Server{Addr: os.Args[1], Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}
