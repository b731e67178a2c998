// Package rules runs the alerts of the chart in Prometheus' own engine, and judges the dashboards by Grafana's schema. It is a module of its own, so that
// their dependencies never touch the product's.
package rules
