// Package browser tries the Control Center as people use it: in Chromium, served by a real manager on a real control plane.
package browser
