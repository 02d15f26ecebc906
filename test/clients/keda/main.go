// KEDA's scaler `azure-cosmosdb` on leases that our processor wrote, at COSMOS_ENDPOINT with the key COSMOS_KEY.
//
// It prints one line of JSON: {"check", "counts", "wrong"}, where `wrong` names each difference. What others have to do
// meanwhile it asks for by a line {"turn", ...}, and reads the answer, a line of JSON, from standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	v2 "k8s.io/api/autoscaling/v2"
)

const container = "Orders"

var (
	input  = bufio.NewReader(os.Stdin)
	counts = map[string]int{"asked": 0}
	wrong  = []string{}
)

type change struct {
	ID   string `json:"id"`
	Turn int    `json:"turn"`
}

func say(line any) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func turn(name string, more map[string]any) {
	request := map[string]any{"turn": name, "container": container}
	for key, value := range more {
		request[key] = value
	}
	say(request)
	if _, err := input.ReadString('\n'); err != nil {
		panic(err)
	}
}

func write(from, to int) { turn("write", map[string]any{"from": from, "to": to}) }

// A host starts, reads everything up to a document, and stops.
func read(from, to int) { readOf(container, from, to) }

func readOf(container string, from, to int) {
	wanted := []change{}
	for n := from; n < to; n++ {
		wanted = append(wanted, change{fmt.Sprintf("k%d", n), 1})
	}
	turn("read", map[string]any{"container": container, "wanted": wanted})
}

func main() {
	ctx := context.Background()
	scaler, err := scalers.NewAzureCosmosDBScaler(&scalersconfig.ScalerConfig{
		MetricType: v2.AverageValueMetricType,
		AuthParams: map[string]string{
			"connection": "AccountEndpoint=" + os.Getenv("COSMOS_ENDPOINT") + ";AccountKey=" + os.Getenv("COSMOS_KEY"),
		},
		TriggerMetadata: map[string]string{
			"databaseId": "shop", "containerId": container, "leaseDatabaseId": "shop", "leaseContainerId": "leases",
			"processorName": "millrace." + container + ".",
		},
	})
	if err != nil {
		panic(err)
	}
	expect := func(when string, lag int64, awake bool) {
		counts["asked"]++
		metrics, active, err := scaler.GetMetricsAndActivity(ctx, "lag")
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", when, err))
			return
		}
		if found := metrics[0].Value.Value(); found != lag || active != awake {
			wrong = append(wrong, fmt.Sprintf("%s: found %d, active %t; wanted %d, %t", when, found, active, lag, awake))
		}
	}
	// The pipeline reads another container too, whose leases are in the same container and are not to be counted.
	turn("write", map[string]any{"container": "Summaries", "from": 0, "to": 3})
	readOf("Summaries", 0, 3)
	write(0, 10)
	expect("before a host made leases", 0, false)
	read(0, 10)
	expect("when all is read", 0, false)
	write(10, 22)
	expect("behind, with no host", 12, true)
	turn("split", nil)
	expect("when the partition was split meanwhile", 1, true)
	read(10, 22)
	expect("when a host has read the parts", 0, false)
	write(22, 30)
	expect("behind in the parts", 8, true)
	say(map[string]any{"check": "scaling to and from zero", "counts": counts, "wrong": wrong})
}
