package e2e_test

import (
	"net/http"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// use is a request, and the phase in which it was made.
type use struct {
	auditEvent

	phase string
}

// of says whether the request is one of these verbs about a resource. create stands for an apply that made the object, too.
func (u use) of(resource string, verbs ...string) bool {
	verb := u.Verb
	if verb == "patch" && u.ResponseStatus.Code == http.StatusCreated {
		verb = "create"
	}
	full := u.ObjectRef.Resource
	if u.ObjectRef.Subresource != "" {
		full += "/" + u.ObjectRef.Subresource
	}
	return full == resource && slices.Contains(verbs, verb) && !u.tries()
}

// tries says whether the request is a dry run.
func (u use) tries() bool { return strings.Contains(u.RequestURI, "dryRun=All") }

// manager says whether the request names a field manager.
func (u use) manager(name string) bool {
	return strings.Contains(u.RequestURI, "fieldManager="+name+"&") || strings.HasSuffix(u.RequestURI, "fieldManager="+name)
}

// child says whether the request is one of these verbs, as the account, about a child whose name ends like this.
func child(resource, suffix string, verbs ...string) func(*audit, use) bool {
	return func(_ *audit, u use) bool {
		return u.Impersonated != nil && u.of(resource, verbs...) && strings.HasSuffix(u.ObjectRef.Name, suffix)
	}
}

// in limits what is looked for to a phase.
func in(phase string, is func(*audit, use) bool) func(*audit, use) bool {
	return func(a *audit, u use) bool { return u.phase == phase && is(a, u) }
}

// onResource is a request about a resource of the box, as the account.
func onResource(name string, verbs ...string) func(*audit, use) bool {
	return func(a *audit, u use) bool {
		return u.Impersonated != nil && u.ObjectRef.APIGroup == a.group && u.of(name, verbs...)
	}
}

// asManager is a request of the manager as itself.
func asManager(resource string, verbs ...string) func(*audit, use) bool {
	return func(_ *audit, u use) bool { return u.Impersonated == nil && u.of(resource, verbs...) }
}

// aboutSnapshot is a request of the manager as itself about a snapshot in its own namespace.
func aboutSnapshot(verb string) func(*audit, use) bool {
	return func(a *audit, u use) bool {
		return asManager("controllerrevisions", verb)(a, u) && u.ObjectRef.Namespace == ownNamespace && !strings.HasPrefix(u.ObjectRef.Name, a.id+"-")
	}
}

// uses are what the audit log has to show at least once: each way of declaring, with what is done for it. A test that stops to exercise one
// of them judges nothing.
var uses = map[string]func(*audit, use) bool{
	"a child is made":              child("configmaps", "-text", "create"),
	"a child is changed":           child("configmaps", "-text", "patch"),
	"a child is made again":        in("changing", child("configmaps", "", "create")),
	"an item of a loop is made":    child("configmaps", "-one", "create"),
	"an item of a loop is dropped": child("configmaps", "-one", "delete"),
	"a declaration is dropped":     child("configmaps", "-dropped", "delete"),
	"a gate closes, and deletes":   child("configmaps", "-closing", "delete"),
	"a gate closes, and keeps":     child("configmaps", "-keeping", "create"),
	"a gate opens":                 child("services", "-web", "create"),
	"a workload is made":           child("deployments", "-web", "create"),
	"an initial field is held": func(_ *audit, u use) bool {
		return u.Impersonated != nil && u.of("deployments", "patch", "create") && u.manager(v1alpha1.FieldManagerInitial)
	},
	"a Job is made":            child("jobs", "-migrate", "create"),
	"a Job is replaced":        child("jobs", "-again", "delete"),
	"an object is made once":   child("configmaps", "-once", "create"),
	"a Secret is drawn":        child("secrets", "-pass", "create"),
	"onCreate":                 child("configmaps", "-first", "create"),
	"onDelete":                 in("deleting", child("configmaps", "-bye", "create")),
	"onDelete, children first": in("deleting", child("configmaps", "-last", "create")),
	"onRollback":               child("configmaps", "-sorry", "create"),
	"a child is adopted":       child("configmaps", "web-adopted", "patch"),
	"a child is let go":        in("deleting", child("configmaps", "-orphan", "patch")),
	"a child in another namespace": func(a *audit, u use) bool {
		return u.ObjectRef.Namespace == a.far && u.Impersonated != nil && u.of("configmaps", "create")
	},
	"a child in another namespace is deleted": func(a *audit, u use) bool {
		return u.ObjectRef.Namespace == a.far && u.Impersonated != nil && u.of("configmaps", "delete")
	},
	"a cluster-scoped child":         child("priorityclasses", "", "create"),
	"a dry run":                      func(_ *audit, u use) bool { return u.Impersonated != nil && u.tries() },
	"cross by name":                  child("configmaps", "-crossed", "create"),
	"cross by labels":                child("configmaps", "-listed", "create"),
	"an external call with a Secret": child("configmaps", "-called", "create"),
	"a status":                       onResource("websites/status", "patch"),
	"marks": func(a *audit, u use) bool {
		return onResource("websites", "patch")(a, u) && u.manager(v1alpha1.FieldManagerMarks)
	},
	"a finalizer is taken off": in("deleting", onResource("websites", "patch")),
	"an event about a resource": func(a *audit, u use) bool {
		return u.Impersonated != nil && u.ObjectRef.Namespace == a.namespace && u.of("events", "create")
	},
	"an event about the box": asManager("events", "create"),
	"a CRD is installed": func(_ *audit, u use) bool {
		return u.Impersonated != nil && u.of("customresourcedefinitions", "create")
	},
	"a CRD is deleted": func(_ *audit, u use) bool {
		return u.Impersonated != nil && u.of("customresourcedefinitions", "delete")
	},
	"a resource is deleted with its CRD": onResource("websites", "delete"),
	"a revision is kept": func(a *audit, u use) bool {
		return asManager("controllerrevisions", "create")(a, u) && strings.HasPrefix(u.ObjectRef.Name, a.id+"-")
	},
	"a snapshot is kept":                      aboutSnapshot("create"),
	"a snapshot is deleted":                   aboutSnapshot("delete"),
	"a status of the box":                     asManager("operatorboxes/status", "patch", "update"),
	"a status of its health":                  asManager("crdhealths/status", "patch", "update"),
	"children are put back":                   in("going back", child("configmaps", "web-back", "patch")),
	"a process that was started again writes": in("restarted", child("configmaps", "", "patch", "create")),
	"a drain lets resources go":               in("drained", onResource("websites", "patch")),
	"a child is deleted without the account":  in(withoutAccount, asManager("configmaps", "delete")),
	"a finalizer is taken off without it":     in(withoutAccount, asManager("websites", "patch")),
	"an account that was confirmed writes":    in("another account", onResource("websites/status", "patch")),
}
