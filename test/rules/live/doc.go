// Package live has a real Prometheus scrape a manager whose box is broken, from the alert to the cause.
package live
