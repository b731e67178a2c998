package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// reportPattern matches the JSON reports of Ginkgo suites.
const reportPattern = "*.json"

// specs are the specs of a Ginkgo suite.
type specs struct {
	count  count
	failed []string
}

// report is what is read of the JSON report of a Ginkgo suite.
type report struct {
	SpecialSuiteFailureReasons []string `json:"SpecialSuiteFailureReasons"`
	SpecReports                []struct {
		ContainerHierarchyTexts []string `json:"ContainerHierarchyTexts"`
		LeafNodeType            string   `json:"LeafNodeType"`
		LeafNodeText            string   `json:"LeafNodeText"`
		State                   string   `json:"State"`
	} `json:"SpecReports"`
}

// readReports returns the specs of all suites that left a report in a folder.
func readReports(folder string) (specs, error) {
	files, err := filepath.Glob(filepath.Join(folder, reportPattern))
	if err != nil {
		return specs{}, err
	}
	if len(files) == 0 {
		return specs{}, errors.New("the suite left no report")
	}
	var all specs
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return all, err
		}
		var found []report
		if err := json.Unmarshal(content, &found); err != nil {
			return all, fmt.Errorf("reading the report %s: %w", file, err)
		}
		for _, r := range found {
			s := r.specs()
			all.count = all.count.plus(s.count)
			all.failed = append(all.failed, s.failed...)
		}
	}
	if all.count == (count{skipped: all.count.skipped}) {
		return all, errors.New("no spec ran")
	}
	return all, nil
}

func (r report) specs() specs {
	var s specs
	for _, spec := range r.SpecReports {
		it := spec.LeafNodeType == "It"
		switch spec.State {
		case "passed":
			if it { // other nodes are part of the specs
				s.count.passed++
			}
		case "skipped", "pending":
			if it {
				s.count.skipped++
			}
		default:
			s.count.failed++
			name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			s.failed = append(s.failed, strings.TrimSpace("["+spec.LeafNodeType+"] "+name))
		}
	}
	// The suite itself can fail though no spec has, for example because a spec is focused.
	if len(r.SpecialSuiteFailureReasons) > 0 && s.count.failed == 0 {
		s.count.failed = 1
		s.failed = append(s.failed, strings.Join(r.SpecialSuiteFailureReasons, "; "))
	}
	return s
}
