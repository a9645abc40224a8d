module mangospeer

go 1.20

require go.nanomsg.org/mangos/v3 v3.4.2

require (
	github.com/Microsoft/go-winio v0.5.2 // indirect
	github.com/gorilla/websocket v1.5.0 // indirect
	golang.org/x/sys v0.0.0-20210124154548-22da62e12c0c // indirect
)
