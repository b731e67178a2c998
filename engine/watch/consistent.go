package watch

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// anyVersion is the resourceVersion of a list that may be answered with any state that there ever was.
const anyVersion = "0"

// Consistent makes a list that would be content with any state ask for the current one. An answer from before this process began
// would hide what a former one has written: the deletion of a resource would then leave children behind. Where the API server
// streams its first answer, which is the usual way, that is never older either.
func Consistent(options metav1.ListOptions) metav1.ListOptions {
	if options.ResourceVersion == anyVersion {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	return options
}
