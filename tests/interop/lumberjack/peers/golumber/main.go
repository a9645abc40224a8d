// The client and the server of go-lumber.
//
//	golumber send ADDRESS sync|async LEVEL WINDOW COUNT
//	golumber receive COUNT KEEP_ALIVE HOLD
//	golumber log
//	golumber drain json|raw | replay ADDRESS FILE IN-FLIGHT TIME | sink | flood ADDRESS FILE LEVEL IN-FLIGHT TIME
//
// With LUMBERJACK_CA in the environment connections are encrypted; LUMBERJACK_CERT and LUMBERJACK_KEY name the certificate
// to present; a reader requires one of the authority if LUMBERJACK_AUTH is set.
// `send` prints the sent events and the number of acknowledged ones. `receive` prints `listening ADDRESS`, then
// the events when COUNT have arrived, and runs until killed; it acknowledges each batch after HOLD. `log` prints
// `listening ADDRESS`, and `event` for each event before it acknowledges the batch. The others are for measurements.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	client "github.com/elastic/go-lumber/client/v2"
	"github.com/elastic/go-lumber/server"
)

const inFlight = 8

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func duration(text string) time.Duration {
	value, err := time.ParseDuration(text)
	check(err)
	return value
}

func say(result map[string]interface{}) {
	check(json.NewEncoder(os.Stdout).Encode(result))
}

func event(index int) interface{} {
	return map[string]interface{}{
		"n":          index,
		"@timestamp": "2024-05-06T07:08:09.000Z",
		"@metadata":  map[string]string{"beat": "golumber"},
		"message":    strings.Repeat("<é & \U0001F980>", index%23),
	}
}

// Nil without encryption.
func tlsConfig() *tls.Config {
	name := os.Getenv("LUMBERJACK_CA")
	if name == "" {
		return nil
	}
	authority, err := os.ReadFile(name)
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	config := &tls.Config{RootCAs: pool, ClientCAs: pool}
	if os.Getenv("LUMBERJACK_AUTH") != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if os.Getenv("LUMBERJACK_CERT") != "" {
		pair, err := tls.LoadX509KeyPair(os.Getenv("LUMBERJACK_CERT"), os.Getenv("LUMBERJACK_KEY"))
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func dial(network, address string) (net.Conn, error) {
	if config := tlsConfig(); config != nil {
		return tls.Dial(network, address, config)
	}
	return net.Dial(network, address)
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println("listening", listener.Addr())
	if config := tlsConfig(); config != nil {
		return tls.NewListener(listener, config)
	}
	return listener
}

func send(address, kind string, level, window, count int) {
	var sent []string
	encode := func(value interface{}) ([]byte, error) {
		data, err := json.Marshal(value)
		sent = append(sent, string(data))
		return data, err
	}
	options := []client.Option{
		client.CompressionLevel(level), client.JSONEncoder(encode), client.Timeout(20 * time.Second),
	}
	var batches [][]interface{}
	for index := 0; index < count; index++ {
		if index%window == 0 {
			batches = append(batches, nil)
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], event(index))
	}
	acked := 0
	if kind == "sync" {
		connection, err := client.SyncDialWith(dial, address, options...)
		check(err)
		for _, batch := range batches {
			n, err := connection.Send(batch)
			check(err)
			acked += n
		}
		check(connection.Close())
	} else {
		connection, err := client.AsyncDialWith(dial, address, inFlight, options...)
		check(err)
		var total int64
		answered := make(chan error, len(batches))
		for _, batch := range batches {
			check(connection.Send(func(n uint32, err error) {
				atomic.AddInt64(&total, int64(n))
				answered <- err
			}, batch))
		}
		for range batches {
			check(<-answered)
		}
		check(connection.Close())
		acked = int(total)
	}
	say(map[string]interface{}{"payloads": sent, "acked": acked})
}

func verbatim(data []byte, into interface{}) error {
	*into.(*interface{}) = string(data)
	return nil
}

func receive(count int, keepAlive, hold time.Duration) {
	reader, err := server.NewWithListener(listen(),
		server.V1(false), server.V2(true), server.Keepalive(keepAlive), server.JSONDecoder(verbatim))
	check(err)
	var payloads []interface{}
	var windows []int
	for batch := range reader.ReceiveChan() {
		payloads = append(payloads, batch.Events...)
		windows = append(windows, len(batch.Events))
		time.Sleep(hold)
		batch.ACK()
		if len(payloads) >= count {
			say(map[string]interface{}{"payloads": payloads, "windows": windows})
		}
	}
}

func log() {
	reader, err := server.NewWithListener(listen(), server.V1(false), server.V2(true), server.JSONDecoder(verbatim))
	check(err)
	for batch := range reader.ReceiveChan() {
		var lines strings.Builder
		for _, event := range batch.Events {
			fmt.Fprintln(&lines, "event", event)
		}
		_, err := os.Stdout.WriteString(lines.String())
		check(err)
		batch.ACK()
	}
}

func main() {
	arguments := os.Args[1:]
	switch arguments[0] {
	case "send":
		send(arguments[1], arguments[2], number(arguments[3]), number(arguments[4]), number(arguments[5]))
	case "receive":
		receive(number(arguments[1]), duration(arguments[2]), duration(arguments[3]))
	case "log":
		log()
	case "drain":
		drain(arguments[1] == "json")
	case "replay":
		replay(arguments[1], arguments[2], number(arguments[3]), duration(arguments[4]))
	case "sink":
		sink()
	case "flood":
		flood(arguments[1], arguments[2], number(arguments[3]), number(arguments[4]), duration(arguments[5]))
	}
}
