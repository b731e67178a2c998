package metrics

// Type says how the value of a series moves, in the words of Prometheus.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Series describes all that is exported under one name. What is registered is made of it, and so is docs/reference/metrics.md.
type Series struct {
	// Name of the series.
	Name string
	// Type of its values.
	Type Type
	// Labels in the order in which their values are given.
	Labels []string
	// Unit of its values, in the plural.
	Unit string
	// Help says in one line what is counted or measured, and which values labels have that are words.
	Help string
	// Buckets are those of a histogram for scrapers that do not ask for native ones.
	Buckets []float64
}

// The units.
const (
	unitSeconds   = "seconds"
	unitBytes     = "bytes"
	unitResources = "resources"
	unitFlag      = "0 or 1"
)

// Catalog gives the description of every series, in the order of the reference.
func Catalog() []Series {
	var all []Series
	for _, part := range [][]Series{ofReconciles(), ofQueues(), ofBoxes(), ofWrites(), ofCalls(), ofCaches(), ofProcess()} {
		all = append(all, part...)
	}
	return all
}

func ofReconciles() []Series {
	return []Series{
		{
			Name: "orkestra_reconcile_total", Type: Counter, Labels: []string{labelBox, labelResult}, Unit: "reconciles",
			Help: "Reconciles by result: success, skipped (no input had changed), waiting, or a class of failure: transient, permanent, refused, permission, panic",
		},
		{
			Name: "orkestra_reconcile_duration_seconds", Type: Histogram, Labels: []string{labelBox}, Unit: unitSeconds,
			Help: "Time that reconciles took, those that were skipped included",
			// A skipped reconcile takes microseconds, one that writes milliseconds, one that waits for a host seconds.
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30},
		},
		{
			Name: "orkestra_stage_duration_seconds", Type: Histogram, Labels: []string{labelBox, "stage"}, Unit: unitSeconds,
			Help:    "Time that the stages of reconciles took that were not skipped: gather (what is read before), the stages as errors name them, status",
			Buckets: []float64{.0001, .001, .005, .01, .05, .1, .5, 1, 5, 30},
		},
		{
			Name: "orkestra_reconciles_overdue", Type: Gauge, Labels: []string{labelBox}, Unit: "reconciles",
			Help: "Reconciles that are past their deadline and do not end",
		},
		{
			Name: "orkestra_panics_total", Type: Counter, Labels: []string{labelBox}, Unit: "panics",
			Help: "Panics that were caught; without a box: in what all boxes share",
		},
		{
			Name: "orkestra_budget_exceeded_total", Type: Counter, Labels: []string{labelBox, "budget"}, Unit: "reconciles",
			Help: "Reconciles that ended over a budget: a limit of templates and CEL (output, memory, work, iterations, depth, nesting, time, pattern, search, " +
				"rendered, cost, time_of_cel), objects (one resource has too many), pool (what all resources make at the same time), retries (put off)",
		},
	}
}

func ofQueues() []Series {
	return []Series{
		{
			Name: "orkestra_queue_depth", Type: Gauge, Labels: []string{labelBox}, Unit: unitResources,
			Help: "Resources that wait for a worker, in the queue and outside of it",
		},
		{
			Name: "orkestra_queue_wait_seconds", Type: Histogram, Labels: []string{labelBox}, Unit: unitSeconds,
			Help:    "Time that resources waited from when they were due until a worker took them",
			Buckets: []float64{.0001, .001, .01, .1, .5, 1, 5, 10, 30, 60, 300},
		},
		{
			Name: "orkestra_queue_oldest_seconds", Type: Gauge, Labels: []string{labelBox}, Unit: unitSeconds,
			Help: "Time that the resource has waited that is due for longest; 0: none waits",
		},
		{
			Name: "orkestra_workers_busy", Type: Gauge, Labels: []string{labelBox}, Unit: "workers",
			Help: "Workers that reconcile at this moment",
		},
		{
			Name: "orkestra_workers_wanted", Type: Gauge, Labels: []string{labelBox}, Unit: "workers",
			Help: "Workers that a box may use",
		},
		{
			Name: "orkestra_queue_namespace_wait_seconds", Type: Gauge, Labels: []string{labelBox, "namespace"}, Unit: unitSeconds,
			Help: "How long the resource has waited that has waited longest, for the ten namespaces that wait longest; without a namespace: of all others. " +
				"Boxes without queue.fairness: Namespace have none",
		},
		{
			Name: "orkestra_autoscale_active", Type: Gauge, Labels: []string{labelBox, "reason"}, Unit: unitFlag,
			Help: "1 while autoscale has replaced limits of a box, 0 while they are those of its spec; boxes without autoscale have none. " +
				"The reason lists every field that the conditions read, such as status.queueDepth, time.hour, " +
				"whether or not it decided; the values are in CRDHealth",
		},
		{
			Name: "orkestra_autoscale_changes_total", Type: Counter, Labels: []string{labelBox}, Unit: "changes",
			Help: "How often autoscale has changed the limits of a box, in both directions",
		},
		{
			Name: "orkestra_places_busy", Type: Gauge, Unit: "reconciles",
			Help: "Reconciles of all boxes that hold one of the places of the process (--max-concurrent-reconciles) at this moment",
		},
	}
}

func ofBoxes() []Series {
	return []Series{
		{
			Name: "orkestra_resources", Type: Gauge, Labels: []string{labelBox, labelState}, Unit: unitResources,
			Help: "Resources of a box by what they show: total, ready, failing, waiting or rolled_back",
		},
		{
			Name: "orkestra_health_state", Type: Gauge, Labels: []string{labelBox, labelState}, Unit: unitFlag,
			Help: "1 for the state that a box is in (Pending, Starting, Healthy, Degraded, Suspended, Stopped), 0 for all others",
		},
		{
			Name: "orkestra_rollbacks_total", Type: Counter, Labels: []string{labelBox}, Unit: "rollbacks",
			Help: "Resources that went back to their last good state",
		},
	}
}

func ofWrites() []Series {
	return []Series{
		{
			Name: "orkestra_children_total", Type: Counter, Labels: []string{labelBox, "action"}, Unit: "writes",
			Help: "Writes of children by action: created, changed (the declaration did), corrected (somebody else had changed the child), adopted, replaced, pruned; " +
				"and of objects of others: patched",
		},
		{
			Name: "orkestra_contention_total", Type: Counter, Labels: []string{labelBox}, Unit: "children",
			Help: "Children and patches that began to be corrected less often, because somebody else keeps changing them",
		},
	}
}

func ofCalls() []Series {
	slow := []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 90}
	return []Series{
		{
			Name: "orkestra_api_requests_total", Type: Counter, Labels: []string{labelBox, "verb", labelCode}, Unit: "requests",
			Help: "Requests to the API server by verb and status code, none: no answer; without a box: lists and watches, which boxes share. Events are not counted",
		},
		{
			Name: "orkestra_external_requests_total", Type: Counter, Labels: []string{labelBox, labelCode}, Unit: "requests",
			Help: "External requests of a box by the status code of the answer: also cached, held (not sent: the host failed before) or none (no answer, or not allowed)",
		},
		{
			Name: "orkestra_external_request_duration_seconds", Type: Histogram, Labels: []string{labelBox}, Unit: unitSeconds,
			Help: "Time that external requests took that were sent, retries included", Buckets: slow,
		},
		{
			Name: "orkestra_provider_requests_total", Type: Counter, Labels: []string{labelBox, "provider", "kind", "operation", labelCode}, Unit: "requests",
			Help: "Calls of a provider's drivers by operation (ensure, observe, delete) and what came of them: success, waiting, held (not sent), none (no answer) or a class of failure",
		},
		{
			Name: "orkestra_provider_request_duration_seconds", Type: Histogram, Labels: []string{labelBox, "provider"}, Unit: unitSeconds,
			Help: "Time that calls of a provider's drivers took that were sent", Buckets: slow,
		},
	}
}

func ofCaches() []Series {
	return []Series{
		{
			Name: "orkestra_watch_age_seconds", Type: Gauge, Labels: []string{labelKind}, Unit: unitSeconds,
			Help: "Time since the watch of a kind (deployments.apps) last told anything, bookmarks included; of several watches, the one that is quiet for longest",
		},
		{
			Name: "orkestra_cache_objects", Type: Gauge, Labels: []string{labelKind}, Unit: "objects",
			Help: "Objects of a kind in the caches of the process, those in several caches counted in each",
		},
		{
			Name: "orkestra_cache_bytes", Type: Gauge, Labels: []string{labelKind}, Unit: unitBytes,
			Help: "What these objects would take as JSON; caches hold them packed, small ones in about a third of that",
		},
	}
}

func ofProcess() []Series {
	return []Series{
		{
			Name: "orkestra_policy_installed", Type: Gauge, Labels: []string{"policy"}, Unit: unitFlag,
			Help: "1 where an admission policy that the manager relies on is in force, 0 where not",
		},
		{
			Name: nameLeader, Type: Gauge, Unit: unitFlag,
			Help: "1 where the process leads, and so writes; 0 where it stands by",
		},
		{
			Name: nameHeartbeat, Type: Gauge, Unit: "seconds since 1970",
			Help: "When the process that leads last renewed its lease; not there where it stands by",
		},
		{
			Name: nameBuildInfo, Type: Gauge, Labels: []string{"version", "commit", "go_version"}, Unit: unitFlag,
			Help: "1, with what the binary was built from as labels",
		},
	}
}
