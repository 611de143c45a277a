package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is the most that is read of an answer.
const maxAnswer = 256 << 20

// Prometheus is the HTTP API of Prometheus, or of what answers as it does, such as VictoriaMetrics and Thanos.
type Prometheus struct {
	// URL is its address, without /api/v1.
	URL string
	// Token is a bearer token for it, if it asks for one.
	Token  string
	Client *http.Client
}

// sample is one series at one moment.
type sample struct {
	Metric map[string]string `json:"metric"`
	// Value is a time, and a number as text.
	Value [2]any `json:"value"`
}

func (s sample) number() float64 {
	text, _ := s.Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return v
}

// query evaluates an expression at one moment.
func (p Prometheus) query(ctx context.Context, expr string, at time.Time) ([]sample, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, fmt.Errorf("--prometheus is %s, which is no URL: %w", p.URL, err)
	}
	u = u.JoinPath("api/v1/query")
	form := url.Values{"query": {expr}, "time": {strconv.FormatInt(at.Unix(), 10)}}
	// A long query fits into no URL.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("--prometheus is %s: %w", p.URL, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot ask Prometheus: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // It has been read.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("cannot read what Prometheus answers: %w", err)
	}
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s answers %s, and no JSON: is this the address of Prometheus?", u.Redacted(), resp.Status)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("Prometheus refuses a query: %s: %w", expr, errors.New(answer.Error)) //nolint:staticcheck // It is a name.
	}
	var out []sample
	if err := json.Unmarshal(answer.Data.Result, &out); err != nil {
		return nil, fmt.Errorf("cannot read the %s that Prometheus answers: %w", answer.Data.ResultType, err)
	}
	return out, nil
}
