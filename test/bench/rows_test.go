package bench_test

import (
	"fmt"

	"github.com/orkspace/orkestra/test/bench/table"
)

// The contestants: the columns of the table.
const (
	ours  = "orkestra"
	other = "BENCH_BINARY"
	hand  = "by hand"
	// held is by hand, too: with a finalizer on each resource and an event when it is ready, as Orkestra has them.
	held = "by hand, held"
)

// The benchmarks, as -bench selects them: BenchmarkTable/sides.
const (
	inMicro     = "micro"
	inSweep     = "sweep"
	inSides     = "sides"
	inWebsites  = "website"
	inBoxes     = "boxes"
	inIdle      = "idle"
	inBurst     = "burst"
	inRestart   = "restart"
	inFight     = "fight"
	inNoisy     = "noisy"
	inAutoscale = "autoscale"
	inHangs     = "hangs"
	inGrowth    = "growth"
	inSettled   = "settled"
	inStarts    = "starts"
	inOutage    = "outage"
	inChurn     = "churn"
	inSoak      = "soak"
	inPage      = "page"
)

// rows are all lines of the table, in its order: what a resource costs, what a box costs, what others may do to it. A row that nothing
// measures yet says so.
func rows(s settings) []table.Row {
	atMost, atLeast := table.AtMost, table.AtLeast
	// The design has other budgets for larger sizes.
	rate, change, many := atLeast(150), atMost(0.7), atMost(3)
	if s.burst >= 1000 {
		rate, change = atLeast(250), atMost(4)
	}
	if s.many >= 500 {
		many = atMost(25)
	}
	return []table.Row{
		{ID: "noop.time", Name: "cycle that finds nothing to do", Unit: "µs", Bound: atMost(50), By: inMicro},
		{ID: "noop.allocs", Name: "the same: allocations", Bound: atMost(100), Exact: true, By: inMicro},
		{ID: "noop.requests", Name: "the same: requests", Bound: atMost(0), Exact: true, By: inSides},
		{ID: "noop.cpu", Name: "the same: CPU of the process", Unit: "ms", Bound: atMost(0.05), By: inSides},
		{ID: "evaluation.time", Name: "full evaluation, 5 children, all equal", Unit: "µs", Bound: atMost(400), By: inMicro},
		{ID: "evaluation.allocs", Name: "the same: allocations", Exact: true, By: inMicro},
		{ID: "compile.time", Name: "compile of 50 declarations", Unit: "ms", Bound: atMost(10), By: inMicro},
		{ID: "compile.allocs", Name: "the same: allocations", Exact: true, By: inMicro},
		{ID: "template.time", Name: "template: 30 leaves of a tree", Unit: "µs", By: inMicro},
		{ID: "template.allocs", Name: "the same: allocations", Exact: true, By: inMicro},
		{ID: "condition.time", Name: "condition: a number is greater", Unit: "µs", By: inMicro},
		{ID: "condition.allocs", Name: "the same: allocations", Exact: true, By: inMicro},
		{ID: "diff.time", Name: "diff: 5 children, prepared and compared", Unit: "µs", By: inMicro},
		{ID: "diff.allocs", Name: "the same: allocations", Exact: true, By: inMicro},
		{ID: "decide.time", Name: "decide, nothing has changed", Unit: "µs", By: inMicro},
		{ID: "decide.allocs", Name: "the same: allocations", Exact: true, By: inMicro},

		{ID: "sweep.rate", Name: "1,000 settled resources due at once", Unit: "/s", Bound: atLeast(5000), By: inSweep},
		{ID: "sweep.beside", Name: "the same beside 50 unrelated writes a second", Unit: "/s", Bound: atLeast(5000), By: inSweep},
		{ID: "sweep.requests", Name: "the same: requests in both", Bound: atMost(0), Exact: true, By: inSweep},
		{ID: "sweep.evaluated", Name: "1,000 settled resources evaluated anew after an edit of the box", Unit: "/s", By: inSweep},
		{ID: "new.p50", Name: "new resource with 3 children to Ready, p50", Unit: "ms", Bound: atMost(15), By: inSides},
		{ID: "new.p99", Name: "the same, p99", Unit: "ms", Bound: atMost(30), By: inSides},
		{ID: "new.requests", Name: "the same: requests", Bound: atMost(8), Exact: true, By: inSides},
		{ID: "burst.time", Name: "burst to all Ready", Unit: "s", Bound: atMost(2), By: inSides},
		{ID: "burst.rate", Name: "the same, by the second", Unit: "/s", Bound: rate, By: inSides},
		{ID: "burst.requests", Name: "the same: requests each", Bound: atMost(8), Exact: true, By: inSides},
		{ID: "burst.cpu", Name: "the same: CPU each", Unit: "ms", Bound: atMost(2.5), By: inSides},
		{ID: "burst.times", Name: "the same: time, of that by hand", Unit: "×", Bound: atMost(1.25), By: inSides, Ratio: &table.Ratio{Row: "burst.time", By: hand}},
		{ID: "burst.cpus", Name: "the same: CPU, of that by hand", Unit: "×", Bound: atMost(1.25), By: inSides, Ratio: &table.Ratio{Row: "burst.cpu", By: hand}},
		{ID: "burst.heldtimes", Name: "the same: time, of that by hand with a finalizer and an event", Unit: "×", Bound: atMost(1.25), By: inSides, Ratio: &table.Ratio{Row: "burst.time", By: held}},
		{ID: "burst.heldcpus", Name: "the same: CPU, of that", Unit: "×", Bound: atMost(1.25), By: inSides, Ratio: &table.Ratio{Row: "burst.cpu", By: held}},
		{ID: "growth.rate", Name: "many more resources at once, by the second", Unit: "/s", Bound: atLeast(250), By: inGrowth},
		{ID: "growth.time", Name: "five times as many beside them: time each, of that before", Unit: "×", Bound: atMost(1.25), By: inGrowth},
		{ID: "growth.cpu", Name: "the same: CPU each", Unit: "×", Bound: atMost(1.25), By: inGrowth},
		{ID: "drift.p50", Name: "drift repaired, p50", Unit: "ms", Bound: atMost(5), By: inSides},
		{ID: "drift.p99", Name: "the same, p99", Unit: "ms", Bound: atMost(10), By: inSides},
		{ID: "drift.requests", Name: "the same: requests", Exact: true, By: inSides},
		{ID: "back.p50", Name: "deleted child back, p50", Unit: "ms", Bound: atMost(8), By: inSides},
		{ID: "back.p99", Name: "the same, p99", Unit: "ms", Bound: atMost(15), By: inSides},
		{ID: "storm.time", Name: "one child of each resource changed at once, to all repaired", Unit: "s", By: inSides},
		{ID: "storm.requests", Name: "the same: requests each", Exact: true, By: inSides},
		{ID: "template-change.time", Name: "one template changed, all resources", Unit: "s", Bound: change, By: inSides},
		{ID: "template-change.requests", Name: "the same: requests each", Bound: atMost(1.1), Exact: true, By: inSides},
		{ID: "chain.p50", Name: fmt.Sprintf("chain of %d children, p50", s.links), Unit: "ms", Bound: atMost(15 * float64(s.links)), By: inSides},
		{ID: "chain.requests", Name: "the same: requests", Exact: true, By: inSides},
		{ID: "restart.time", Name: "restart to a new resource Ready", Unit: "s", Bound: atMost(0.7), By: inSides},
		{ID: "restart.writes", Name: "the same: writes but for the new resource", Bound: atMost(0), Exact: true, By: inSides},
		{ID: "deleted.time", Name: "all resources deleted", Unit: "s", Bound: atMost(1), By: inSides},
		{ID: "deleted.heldtimes", Name: "the same: time, of that by hand with a finalizer", Unit: "×", Bound: atMost(1.25), By: inSides, Ratio: &table.Ratio{Row: "deleted.time", By: held}},
		{ID: "deleted.requests", Name: "the same: requests each", Bound: atMost(1.1), Exact: true, By: inSides},
		{ID: "wide.time", Name: "the burst with 16 workers, to all Ready", Unit: "s", Bound: atMost(1.5), By: inSides},

		{ID: "website.p50", Name: "new Website (Deployment, Service, Ingress, disruption budget) to Ready, p50", Unit: "ms", Bound: atMost(30), By: inWebsites},
		{ID: "website.requests", Name: "the same: requests", Bound: atMost(9), Exact: true, By: inWebsites},
		{ID: "website.times", Name: "the same: p50, of that by hand", Unit: "×", Bound: atMost(1.25), By: inWebsites, Ratio: &table.Ratio{Row: "website.p50", By: hand}},
		{ID: "website.cpu", Name: "the same: CPU each", Unit: "ms", By: inWebsites},
		{ID: "website.cpus", Name: "the same: CPU, of that by hand", Unit: "×", Bound: atMost(1.25), By: inWebsites, Ratio: &table.Ratio{Row: "website.cpu", By: hand}},
		{ID: "website.heldtimes", Name: "the same: p50, of that by hand with a finalizer and an event", Unit: "×", Bound: atMost(1.25), By: inWebsites, Ratio: &table.Ratio{Row: "website.p50", By: held}},
		{ID: "website.heldcpus", Name: "the same: CPU, of that", Unit: "×", Bound: atMost(1.25), By: inWebsites, Ratio: &table.Ratio{Row: "website.cpu", By: held}},
		{ID: "image.p50", Name: "image of a Deployment repaired, p50", Unit: "ms", Bound: atMost(5), By: inWebsites},
		{ID: "image.requests", Name: "the same: requests", Exact: true, By: inWebsites},

		{ID: "definition.p50", Name: "box with a new CRD to Ready, p50", Unit: "s", Bound: atMost(0.2), By: inBoxes},
		{ID: "definition.first", Name: "the same, to the first resource Ready, p50", Unit: "s", Bound: atMost(0.6), By: inBoxes},
		{ID: "present.first", Name: "box whose CRD is there, to its first resource Ready, p50", Unit: "ms", Bound: atMost(100), By: inBoxes},
		{ID: "many.time", Name: "many boxes with CRDs at once, to all Ready", Unit: "s", Bound: many, By: inBoxes},
		{ID: "many.crds", Name: "the same CRDs alone, without boxes, to all served", Unit: "s", By: inBoxes},
		{ID: "empty.rss", Name: "RSS without a box", Unit: "MB", Bound: atMost(35), By: inBoxes},
		{ID: "many.rss", Name: "RSS with all boxes, idle", Unit: "MB", Bound: atMost(60), By: inBoxes},
		{ID: "many.cpu", Name: "CPU with all boxes, idle", Unit: "% of a core", Bound: atMost(0.1), By: inBoxes},
		{ID: "many.requests", Name: "the same: requests a minute", Exact: true, By: inBoxes},
		{ID: "idle.heap", Name: "idle box: heap", Unit: "KiB", Bound: atMost(250), By: inIdle},
		{ID: "idle.goroutines", Name: "idle box: goroutines", Bound: atMost(24), Exact: true, By: inIdle},
		{ID: "idle.watches", Name: "idle box: watches of its kind, of which two are of Kubernetes' controllers", Exact: true, By: inIdle},
		{ID: "settled.heap", Name: "many settled resources with 3 children: heap, of their JSON", Unit: "×", Bound: atMost(2), By: inSettled},
		{ID: "starts.goroutines", Name: "boxes started and stopped: goroutines more than before", Bound: atMost(0), Exact: true, By: inStarts},
		{ID: "starts.watches", Name: "the same: watches more than before, of all of the API server", Bound: atMost(0), Exact: true, By: inStarts},
		{ID: "starts.heap", Name: "the same: heap more than before, for each", Unit: "KiB", By: inStarts},

		{ID: "burst.applied", Name: "burst in this process, children applied", Unit: "/s", Bound: atLeast(150), By: inBurst},
		{ID: "burst.once", Name: "the same, children made once", Unit: "/s", Bound: atLeast(150), By: inBurst},
		{ID: "burst.own", Name: "the same: requests about a resource and its children", Bound: atMost(5), Exact: true, By: inBurst},
		{ID: "burst.hands", Name: "children applied: time, of that by hand", Unit: "×", Bound: atMost(1.25), By: inBurst},
		{ID: "burst.held", Name: "the same, where that one holds its resources and tells of them", Unit: "×", Bound: atMost(1.25), By: inBurst},
		{ID: "burst.account", Name: "as an account: time, of that as the manager", Unit: "×", Bound: atMost(1.05), By: inBurst},
		{ID: "burst.accounts", Name: "as an account: requests, of those as the manager", Unit: "×", Bound: atMost(1.01), Exact: true, By: inBurst},
		{ID: "burst.audited", Name: "requests in the audit log that the transports did not count, or the other way", Bound: atMost(0), Exact: true, By: inBurst},

		{ID: "restarted.writes", Name: "restart beside many boxes: writes", Bound: atMost(0), Exact: true, By: inRestart},
		{ID: "restarted.reviews", Name: "the same: access reviews, one for each distinct right", Exact: true, By: inRestart},
		{ID: "restarted.time", Name: "the same: to a new resource Ready", Unit: "s", By: inRestart},
		{ID: "restarted.synced", Name: "the same: to all resources looked at", Unit: "s", Bound: atMost(5), By: inRestart},
		{ID: "fight.corrections", Name: "fight over a field for 15 s: corrections", Bound: atMost(60), Exact: true, By: inFight},
		{ID: "fight.unnamed", Name: "the same: the other one is not named (1: so)", Bound: atMost(0), Exact: true, By: inFight},
		{ID: "fight.settled", Name: "the same: settled after it ends", Unit: "s", Bound: atMost(2), By: inFight},
		{ID: "noisy.p50", Name: "beside noisy boxes: p50, of that alone", Unit: "×", Bound: atMost(1.2), By: inNoisy},
		{ID: "noisy.p99", Name: "beside noisy boxes: p99, of that alone", Unit: "×", Bound: atMost(1.2), By: inNoisy},
		{ID: "hangs.p50", Name: "beside hooks that sleep and panic and a host that hangs: p50, of that alone", Unit: "×", Bound: atMost(1.2), By: inHangs},
		{ID: "hangs.p99", Name: "the same, p99", Unit: "×", Bound: atMost(1.2), By: inHangs},
		{ID: "autoscale.drained", Name: "5,000 settled resources with a 20 ms hook under autoscale, of the ideal after the ramp", Unit: "×", Bound: atMost(1.3), By: inAutoscale},
		{ID: "autoscale.new", Name: "the same, new resources, which are marked and get a status", Unit: "×", Bound: atMost(1.3), By: inAutoscale},
		{ID: "autoscale.ramp", Name: "the same: to more workers", Unit: "s", Bound: atMost(2), By: inAutoscale},
		{ID: "autoscale.back", Name: "the same: drained to the workers of the spec", Unit: "s", Bound: atMost(7), By: inAutoscale},
		{ID: "page.first", Name: "first page of the Control Center, with script, styles and the fleet, by a new connection", Unit: "ms", Bound: atMost(1000), By: inPage},
		{ID: "page.rows.p50", Name: "many resources listed page by page, p50", Unit: "ms", By: inPage},
		{ID: "page.rows.p99", Name: "the same, p99", Unit: "ms", Bound: atMost(100), By: inPage},
		{ID: "page.requests", Name: "the same: requests but for reviews", Bound: atMost(0), Exact: true, By: inPage},
		{ID: "page.live", Name: "20 changes a second before many open pages: until one is told, p99", Unit: "s", Bound: atMost(1), By: inPage},
		{ID: "page.heap", Name: "the same: heap of the manager, more than without pages", Unit: "MB", Bound: atMost(20), By: inPage},

		{ID: "outage.time", Name: "API server stopped for 20 s in a burst: started to all Ready", Unit: "s", Bound: atMost(10), By: inOutage},
		{ID: "outage.cut", Name: "all watches cut at once in a burst: to all Ready", Unit: "s", Bound: atMost(10), By: inOutage},
		{ID: "outage.gone", Name: "the same, with 410 Gone", Unit: "s", Bound: atMost(10), By: inOutage},
		{ID: "outage.lost", Name: "all three: children too few or too many", Bound: atMost(0), Exact: true, By: inOutage},
		{ID: "churn.p50", Name: "50 creations, 50 edits, 50 deletions a second: p50 to Ready", Unit: "ms", By: inChurn},
		{ID: "churn.p99", Name: "the same, p99", Unit: "ms", Bound: atMost(250), By: inChurn},
		{ID: "churn.unready", Name: "the same: deleted before they were Ready", By: inChurn},
		{ID: "churn.rss", Name: "the same: RSS more than before", Unit: "MB", By: inChurn},
		{ID: "soak.heap", Name: "churn at half the rate: slope of the live heap", Unit: "KiB/h", Bound: table.NotAbove(0), By: inSoak},
		{ID: "soak.goroutines", Name: "the same: slope of the goroutines", Unit: "/h", Bound: table.NotAbove(0), By: inSoak},
		{ID: "soak.watches", Name: "the same: slope of the watches", Unit: "/h", Bound: table.NotAbove(0), By: inSoak},
	}
}
