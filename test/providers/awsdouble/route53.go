package awsdouble

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

const namespace53 = "https://route53.amazonaws.com/doc/2013-04-01/"

// Zone is a hosted zone.
type Zone struct{ Sets []Set }

// Set is a resource record set, in the order of fields of the published model.
type Set struct {
	Name            string   `xml:"Name"`
	Type            string   `xml:"Type"`
	SetIdentifier   string   `xml:"SetIdentifier,omitempty"`
	Weight          *int64   `xml:"Weight,omitempty"`
	Region          string   `xml:"Region,omitempty"`
	Failover        string   `xml:"Failover,omitempty"`
	TTL             *int64   `xml:"TTL,omitempty"`
	Records         *Records `xml:"ResourceRecords,omitempty"`
	AliasTarget     *Alias   `xml:"AliasTarget,omitempty"`
	HealthCheckID   string   `xml:"HealthCheckId,omitempty"`
	GeoProximityLoc string   `xml:"-"`
}

// Records are the values of a set.
type Records struct {
	Values []struct {
		Value string `xml:"Value"`
	} `xml:"ResourceRecord"`
}

// Alias is the target of an alias.
type Alias struct {
	HostedZoneID         string `xml:"HostedZoneId"`
	DNSName              string `xml:"DNSName"`
	EvaluateTargetHealth bool   `xml:"EvaluateTargetHealth"`
}

// order is that of lists: the labels from behind, the type, the identifier.
func (s Set) order() string {
	labels := strings.Split(strings.TrimSuffix(s.Name, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".") + "\x00" + s.Type + "\x00" + s.SetIdentifier
}

// PutZone makes a hosted zone.
func (c *Cloud) PutZone(id string, sets ...Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones[id] = &Zone{Sets: sets}
}

// Sets are those of a zone.
func (c *Cloud) Sets(zone string) []Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.zones[zone].Sets)
}

func refuseXML(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	type problem struct {
		Type    string `xml:"Type"`
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Error     problem  `xml:"Error"`
		RequestID string   `xml:"RequestId"`
	}{Error: problem{"Sender", code, message}, RequestID: w.Header().Get("X-Amzn-Requestid")})
}

func answerXML(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = w.Write([]byte(xml.Header))
	_ = xml.NewEncoder(w).Encode(body)
}

func (c *Cloud) route53(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if len(parts) == 3 && parts[1] == "change" {
		c.Seen = append(c.Seen, "GetChange")
		c.getChange(w, parts[2])
		return
	}
	if len(parts) != 4 || parts[1] != "hostedzone" || parts[3] != "rrset" {
		refuseXML(w, http.StatusNotFound, "InvalidInput", "no such path")
		return
	}
	zone, found := c.zones[parts[2]]
	if !found {
		refuseXML(w, http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: "+parts[2])
		return
	}
	if req.Method == http.MethodGet {
		c.Seen = append(c.Seen, "ListResourceRecordSets")
		list(w, req, zone)
		return
	}
	c.Seen = append(c.Seen, "ChangeResourceRecordSets")
	c.change(w, req, zone)
}

func list(w http.ResponseWriter, req *http.Request, zone *Zone) {
	query := req.URL.Query()
	start := Set{Name: query.Get("name"), Type: query.Get("type"), SetIdentifier: query.Get("identifier")}.order()
	sets := slices.Clone(zone.Sets)
	slices.SortFunc(sets, func(a, b Set) int { return strings.Compare(a.order(), b.order()) })
	out := struct {
		XMLName     xml.Name `xml:"ListResourceRecordSetsResponse"`
		Space       string   `xml:"xmlns,attr"`
		Sets        []Set    `xml:"ResourceRecordSets>ResourceRecordSet"`
		IsTruncated bool
		MaxItems    string
	}{Space: namespace53, MaxItems: query.Get("maxitems")}
	for _, set := range sets {
		if set.order() < start {
			continue
		}
		if len(out.Sets) == 1 {
			out.IsTruncated = true
			break
		}
		// Route 53 spells a * by its number.
		set.Name = strings.Replace(set.Name, "*", `\052`, 1)
		out.Sets = append(out.Sets, set)
	}
	answerXML(w, out)
}

type batch struct {
	Changes []struct {
		Action string `xml:"Action"`
		Set    Set    `xml:"ResourceRecordSet"`
	} `xml:"ChangeBatch>Changes>Change"`
}

// change does all of a batch, or nothing.
func (c *Cloud) change(w http.ResponseWriter, req *http.Request, zone *Zone) {
	var in batch
	if err := xml.NewDecoder(req.Body).Decode(&in); err != nil {
		refuseXML(w, http.StatusBadRequest, "MalformedXML", err.Error())
		return
	}
	sets := slices.Clone(zone.Sets)
	for _, change := range in.Changes {
		change.Set.Name = strings.Replace(change.Set.Name, `\052`, "*", 1)
		i := slices.IndexFunc(sets, func(s Set) bool { return s.order() == change.Set.order() })
		problem := ""
		switch {
		case change.Action == "CREATE" && i >= 0:
			problem = "but it already exists"
		case change.Action == "UPSERT" && i >= 0:
			sets[i] = change.Set
		case change.Action == "CREATE", change.Action == "UPSERT":
			sets = append(sets, change.Set)
		case change.Action == "DELETE" && i < 0:
			problem = "but it was not found"
		case change.Action == "DELETE" && !reflect.DeepEqual(sets[i], change.Set):
			problem = "but the values provided do not match the current values"
		case change.Action == "DELETE":
			sets = slices.Delete(sets, i, i+1)
		default:
			problem = "and the action is unknown"
		}
		if problem != "" {
			refuseXML(w, http.StatusBadRequest, "InvalidChangeBatch", fmt.Sprintf("[Tried to %s resource record set [name='%s', type='%s'] %s]", strings.ToLower(change.Action), change.Set.Name, change.Set.Type, problem))
			return
		}
	}
	zone.Sets = sets
	id := fmt.Sprintf("C%d", c.number)
	c.changes[id] = 1
	answerXML(w, changeAnswer("ChangeResourceRecordSetsResponse", id, "PENDING"))
}

// getChange says PENDING once, and INSYNC from then on.
func (c *Cloud) getChange(w http.ResponseWriter, id string) {
	left, found := c.changes[id]
	if !found {
		refuseXML(w, http.StatusNotFound, "NoSuchChange", "A change with that ID does not exist")
		return
	}
	status := "INSYNC"
	if left > 0 {
		c.changes[id], status = left-1, "PENDING"
	}
	answerXML(w, changeAnswer("GetChangeResponse", id, status))
}

func changeAnswer(name, id, status string) any {
	type info struct {
		ID          string `xml:"Id"`
		Status      string
		SubmittedAt string
	}
	return struct {
		XMLName xml.Name
		Space   string `xml:"xmlns,attr"`
		Info    info   `xml:"ChangeInfo"`
	}{XMLName: xml.Name{Local: name}, Space: namespace53, Info: info{"/change/" + id, status, "2026-01-01T00:00:00Z"}}
}
