// PAIR sockets of mangos, which read commands and print events as the other peers do (see sp_peers.py).
//
//	mangos pair0|pair1 [serve=FILE] [trust=FILE]
//
// See pynng_peer.py for the files.
package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pair"
	"go.nanomsg.org/mangos/v3/protocol/pair1"
	_ "go.nanomsg.org/mangos/v3/transport/ipc"
	_ "go.nanomsg.org/mangos/v3/transport/tcp"
	_ "go.nanomsg.org/mangos/v3/transport/tlstcp"
	_ "go.nanomsg.org/mangos/v3/transport/ws"
	_ "go.nanomsg.org/mangos/v3/transport/wss"
)

const (
	long        = 65536
	few         = 64
	short       = 64
	sendTimeout = 20 * time.Second
)

type command struct {
	Do      string
	URL     string
	Text    *string
	First   int
	Count   int
	Length  int
	Timeout float64
}

type facts map[string]interface{}

var telling sync.Mutex

func emit(event string, more facts) {
	line := facts{"event": event}
	for key, value := range more {
		line[key] = value
	}
	telling.Lock()
	defer telling.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		os.Exit(1)
	}
}

// body returns the same as body in sp_messages.py.
func body(index, length int) []byte {
	if length == 0 {
		length = 1 + index*7919%1009
		if index%100 == 99 {
			length = long
		}
	}
	made := make([]byte, length)
	for offset := range made {
		made[offset] = byte(index + offset)
	}
	return made
}

func checksum(bodies [][]byte) string {
	digest := sha256.New()
	var length [4]byte
	for _, each := range bodies {
		binary.LittleEndian.PutUint32(length[:], uint32(len(each)))
		digest.Write(length[:])
		digest.Write(each)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// fromLatin1 and toLatin1 convert between bytes and text with one character per byte.
func fromLatin1(text string) []byte {
	var made []byte
	for _, each := range text {
		made = append(made, byte(each))
	}
	return made
}

func toLatin1(data []byte) string {
	made := make([]rune, len(data))
	for index, each := range data {
		made[index] = rune(each)
	}
	return string(made)
}

func open(kind string) (mangos.Socket, error) {
	if kind == "pair0" {
		return pair.NewSocket()
	}
	return pair1.NewSocket()
}

// secured returns the certificate options from the command line.
func secured(said []string) (map[string]interface{}, error) {
	options := map[string]interface{}{}
	for _, option := range said {
		role, file, _ := strings.Cut(option, "=")
		config := &tls.Config{ServerName: "localhost"}
		if role == "serve" {
			made, err := tls.LoadX509KeyPair(file, file)
			if err != nil {
				return nil, err
			}
			config.Certificates = []tls.Certificate{made}
		} else {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			config.RootCAs = x509.NewCertPool()
			config.RootCAs.AppendCertsFromPEM(content)
		}
		options[mangos.OptionTLSConfig] = config
	}
	return options, nil
}

func listen(socket mangos.Socket, url string, options map[string]interface{}) error {
	listener, err := socket.NewListener(url, options)
	if err != nil {
		return err
	}
	if err = listener.Listen(); err != nil {
		return err
	}
	emit("listening", facts{"url": listener.Address()})
	return nil
}

func send(socket mangos.Socket, told command) error {
	var bodies [][]byte
	if told.Text != nil {
		bodies = append(bodies, fromLatin1(*told.Text))
	}
	for index := told.First; told.Text == nil && index < told.First+told.Count; index++ {
		bodies = append(bodies, body(index, told.Length))
	}
	for _, each := range bodies {
		if err := socket.Send(each); err != nil {
			return err
		}
	}
	emit("sent", facts{"count": len(bodies), "checksum": checksum(bodies)})
	return nil
}

func receive(socket mangos.Socket, told command) {
	came := [][]byte{}
	messages := []facts{}
	why := ""
	for len(came) < told.Count {
		deadline := time.Duration(told.Timeout * float64(time.Second))
		if err := socket.SetOption(mangos.OptionRecvDeadline, deadline); err != nil {
			why = err.Error()
			break
		}
		data, err := socket.Recv()
		if err != nil {
			why = err.Error()
			break
		}
		came = append(came, data)
		if len(messages) < few {
			text := ""
			if len(data) <= short {
				text = toLatin1(data)
			}
			messages = append(messages, facts{"length": len(data), "text": text, "pipe": 0})
		}
	}
	emit("received", facts{
		"count": len(came), "checksum": checksum(came), "messages": messages, "error": why,
	})
}

func act(
	socket mangos.Socket, told command, options map[string]interface{}, receives chan<- command,
) error {
	switch told.Do {
	case "listen":
		return listen(socket, told.URL, options)
	case "dial":
		dialing := map[string]interface{}{mangos.OptionDialAsynch: true}
		for name, value := range options {
			dialing[name] = value
		}
		if err := socket.DialOptions(told.URL, dialing); err != nil {
			return err
		}
		emit("dialing", nil)
	case "send":
		return send(socket, told)
	case "receive":
		receives <- told
	case "close":
		err := socket.Close()
		emit("closed", nil)
		return err
	default:
		return fmt.Errorf("no command %q", told.Do)
	}
	return nil
}

func onPipe(event mangos.PipeEvent, pipe mangos.Pipe) {
	switch event {
	case mangos.PipeEventAttached:
		emit("joined", facts{"pipe": pipe.ID()})
	case mangos.PipeEventDetached:
		emit("left", facts{"pipe": pipe.ID()})
	}
}

func main() {
	socket, err := open(os.Args[1])
	if err != nil {
		panic(err)
	}
	options, err := secured(os.Args[2:])
	if err != nil {
		panic(err)
	}
	socket.SetPipeEventHook(onPipe)
	for name, value := range map[string]interface{}{
		mangos.OptionSendDeadline:     sendTimeout,
		mangos.OptionReconnectTime:    50 * time.Millisecond,
		mangos.OptionMaxReconnectTime: 200 * time.Millisecond,
		mangos.OptionMaxRecvSize:      0,
	} {
		if err := socket.SetOption(name, value); err != nil {
			panic(name + ": " + err.Error())
		}
	}
	receives := make(chan command, 1024)
	go func() {
		for told := range receives {
			receive(socket, told)
		}
	}()
	emit("ready", nil)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var told command
		err := json.Unmarshal(lines.Bytes(), &told)
		if err == nil {
			err = act(socket, told, options, receives)
		}
		if err != nil {
			emit("failed", facts{"error": err.Error()})
		}
	}
}
