package packed

// Decoded gives a function that unpacks an object each time, though somebody holds it.
func Decoded(o *Object) func() any {
	return func() any {
		v, _ := o.decoder().value(0)
		return v
	}
}
