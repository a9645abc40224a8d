package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	client "github.com/elastic/go-lumber/client/v2"
	"github.com/elastic/go-lumber/server"
)

// drain runs the server of go-lumber until killed; it discards events, decoded or not.
func drain(decodes bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	decode := func(data []byte, into interface{}) error {
		*into.(*interface{}) = data
		return nil
	}
	if decodes {
		decode = json.Unmarshal
	}
	reader, err := server.NewWithListener(listener,
		server.V1(false), server.V2(true), server.JSONDecoder(decode))
	check(err)
	fmt.Println("listening", listener.Addr())
	for batch := range reader.ReceiveChan() {
		batch.ACK()
	}
}

func readAck(in io.Reader) uint32 {
	var frame [6]byte
	_, err := io.ReadFull(in, frame[:])
	check(err)
	if frame[0] != '2' || frame[1] != 'A' {
		check(fmt.Errorf("no acknowledgement: %x", frame))
	}
	return binary.BigEndian.Uint32(frame[2:])
}

// replay sends the window in a file repeatedly: a writer with nearly no cost.
func replay(address, file string, inFlight int, length time.Duration) {
	window, err := os.ReadFile(file)
	check(err)
	events := binary.BigEndian.Uint32(window[2:6])
	connection, err := net.Dial("tcp", address)
	check(err)
	slots := make(chan bool, inFlight)
	begin := time.Now()
	go func() {
		for time.Since(begin) < length {
			slots <- true
			_, err := connection.Write(window)
			check(err)
		}
		close(slots)
	}()
	windows := 0
	for range slots {
		for readAck(connection) != events {
		}
		windows++
	}
	say(map[string]interface{}{
		"events": windows * int(events), "seconds": time.Since(begin).Seconds(),
	})
}

// sink acknowledges windows of any writer without decoding their events.
func sink() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println("listening", listener.Addr())
	for {
		connection, err := listener.Accept()
		check(err)
		go swallow(connection)
	}
}

func swallow(connection net.Conn) {
	defer connection.Close()
	in := bufio.NewReaderSize(connection, 1<<18)
	header := make([]byte, 6)
	ack := []byte("2A\000\000\000\000")
	left := uint32(0)
	for {
		if _, err := io.ReadFull(in, header); err != nil {
			return
		}
		length := binary.BigEndian.Uint32(header[2:])
		switch header[1] {
		case 'W':
			left = length
			copy(ack[2:], header[2:])
			continue
		case 'C':
			left = 0
		case 'J':
			if _, err := io.ReadFull(in, header[:4]); err != nil {
				return
			}
			length = binary.BigEndian.Uint32(header)
			left--
		}
		if _, err := in.Discard(int(length)); err != nil {
			return
		}
		if left == 0 {
			if _, err := connection.Write(ack); err != nil {
				return
			}
		}
	}
}

func processorTime() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// flood runs the client of go-lumber with the lines of a file, which are already encoded.
func flood(address, file string, level, inFlight int, length time.Duration) {
	data, err := os.ReadFile(file)
	check(err)
	var batch []interface{}
	for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		batch = append(batch, line)
	}
	encode := func(value interface{}) ([]byte, error) { return value.([]byte), nil }
	connection, err := client.AsyncDial(address, inFlight,
		client.CompressionLevel(level), client.JSONEncoder(encode))
	check(err)
	answered := make(chan error, 1<<20)
	begin, used := time.Now(), processorTime()
	windows := 0
	for time.Since(begin) < length {
		check(connection.Send(func(n uint32, err error) { answered <- err }, batch))
		windows++
	}
	for index := 0; index < windows; index++ {
		check(<-answered)
	}
	say(map[string]interface{}{
		"events":  windows * len(batch),
		"seconds": time.Since(begin).Seconds(), "processor": processorTime() - used,
	})
}
