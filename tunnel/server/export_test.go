package server

// Pending returns how many connections there are of those that haven't shown yet who they are.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}
