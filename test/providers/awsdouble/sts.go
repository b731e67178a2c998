package awsdouble

import (
	"encoding/xml"
	"net/http"
	"time"
)

// sts answers AssumeRoleWithWebIdentity, which is not signed: the token says who asks.
func (c *Cloud) sts(w http.ResponseWriter, req *http.Request) {
	if err := req.ParseForm(); err != nil {
		refuseXML(w, http.StatusBadRequest, "MalformedInput", err.Error())
		return
	}
	c.Seen = append(c.Seen, req.PostForm.Get("Action"))
	token := req.PostForm.Get("WebIdentityToken")
	key, known := c.Tokens[token]
	if !known && c.Trusts != nil {
		key, known = c.Trusts(token, req.PostForm.Get("RoleArn"))
	}
	switch {
	case req.PostForm.Get("Action") != "AssumeRoleWithWebIdentity" || req.Header.Get("Authorization") != "":
		refuseXML(w, http.StatusBadRequest, "InvalidAction", "no such action")
		return
	case !known:
		refuseXML(w, http.StatusBadRequest, "InvalidIdentityToken", "The token "+token+" is not valid")
		return
	}
	type credentials struct {
		AccessKeyID     string `xml:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      string
	}
	answerXML(w, struct {
		XMLName     xml.Name    `xml:"AssumeRoleWithWebIdentityResponse"`
		Space       string      `xml:"xmlns,attr"`
		Credentials credentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		RequestID   string      `xml:"ResponseMetadata>RequestId"`
	}{Space: "https://sts.amazonaws.com/doc/2011-06-15/", Credentials: credentials{key, "secret-of-" + key, "session-of-" + key, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}})
}
