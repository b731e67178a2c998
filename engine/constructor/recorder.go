package constructor

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
)

// recorder names objects by the scheme of the user, whose types the recorder behind it does not know.
type recorder struct {
	scheme *runtime.Scheme
	next   events.EventRecorder
}

var _ events.EventRecorder = recorder{}

func (c *Code) recorder() events.EventRecorder {
	return recorder{scheme: c.config.Scheme, next: c.config.Recorder}
}

// Eventf implements events.EventRecorder. An event about an object of an unknown type is not sent: there is nothing to name it by.
func (r recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	if r.next == nil {
		return
	}
	about := r.named(regarding)
	if about == nil {
		return
	}
	var beside runtime.Object
	if ref := r.named(related); ref != nil {
		beside = ref
	}
	r.next.Eventf(about, beside, kind, reason, action, note, args...)
}

func (r recorder) named(obj runtime.Object) *corev1.ObjectReference {
	if obj == nil {
		return nil
	}
	ref, err := reference.GetReference(r.scheme, obj)
	if err != nil {
		return nil
	}
	return ref
}
