package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// specs are the specs of a Ginkgo suite.
type specs struct {
	count  count
	failed []string
}

// report is what is read of the JSON report of a Ginkgo suite.
type report struct {
	SuitePath                  string   `json:"SuitePath"`
	SpecialSuiteFailureReasons []string `json:"SpecialSuiteFailureReasons"`
	SpecReports                []struct {
		ContainerHierarchyTexts []string `json:"ContainerHierarchyTexts"`
		LeafNodeType            string   `json:"LeafNodeType"`
		LeafNodeText            string   `json:"LeafNodeText"`
		State                   string   `json:"State"`
	} `json:"SpecReports"`
}

// readReport returns the specs of the suite in a folder, from the reports that suites left; false if there is none.
func readReport(reports, suitePath string) (specs, bool) {
	files, err := filepath.Glob(filepath.Join(reports, "*.json"))
	if err != nil {
		return specs{}, false
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // then the suite counts as one test
		}
		var found []report
		if json.Unmarshal(content, &found) != nil {
			var one report
			if json.Unmarshal(content, &one) != nil {
				continue // it did not end writing: as above
			}
			found = []report{one}
		}
		for _, r := range found {
			if r.SuitePath == suitePath {
				return r.specs(), true
			}
		}
	}
	return specs{}, false
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
	// With no spec failed, something else has: no spec may be focused, say.
	if len(r.SpecialSuiteFailureReasons) > 0 && s.count.failed == 0 {
		s.count.failed = 1
		s.failed = append(s.failed, strings.Join(r.SpecialSuiteFailureReasons, "; "))
	}
	return s
}
