package metrics

// RolledBack counts one resource that went back to its last good state.
func (r *Recorder) RolledBack(box string) {
	if r == nil {
		return
	}
	r.rollbacks.WithLabelValues(box).Inc()
}

// SetRolledBack sets the number of resources of a box that are rolled back.
func (r *Recorder) SetRolledBack(box string, n int32) {
	if r == nil {
		return
	}
	r.rolledBack.WithLabelValues(box).Set(float64(n))
}
