// Package rules runs the alerts of the chart in Prometheus' own engine. It is a module of its own, so that Prometheus' dependencies never touch the
// product's.
package rules
