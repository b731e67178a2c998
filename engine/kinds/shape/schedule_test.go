package shape

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestBadSchedule(t *testing.T) {
	for text, why := range map[string]string{
		"30 2 * * *":                  "",
		"*/5 0-6,22 1,15 jan-MAR sun": "",
		"@daily":                      "",
		"@every 1h":                   "",
		"0 0 ? * 6":                   "",
		"every day":                   "want five fields",
		"* * * * * *":                 "got 6",
		"61 * * * *":                  `the minute is "61": want *, or numbers from 0 to 59`,
		"0 24 * * *":                  `the hour is "24"`,
		"0 0 0 * *":                   `the day of the month is "0"`,
		"0 0 * 13 *":                  `the month is "13"`,
		"0 0 * * 7":                   `the day of the week is "7"`,
		"*/0 * * * *":                 `the minute is "*/0"`,
		"5-1 * * * *":                 `the minute is "5-1"`,
		"a * * * *":                   `the minute is "a"`,
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			if why == "" {
				g.Expect(badSchedule(text)).To(BeEmpty())
			} else {
				g.Expect(badSchedule(text)).To(ContainSubstring(why))
			}
		})
	}
}
