// Writers of version 1 from npm, always encrypted: lumberjack-protocol, alone or under bunyan-lumberjack.
//
//     node version_1.js MODULES protocol|bunyan PORT COUNT WINDOW
//
// LUMBERJACK_CA names the authority; LUMBERJACK_CERT and LUMBERJACK_KEY a certificate to present. Prints the sent events
// when all are acknowledged.
'use strict'

const [, , modules, kind, port, count, windowSize] = process.argv
const fs = require('fs')
const read = (name) => process.env[name] && fs.readFileSync(process.env[name])

const options = { windowSize: Number(windowSize) }
const tlsOptions = {
  host: '127.0.0.1',
  port: Number(port),
  ca: read('LUMBERJACK_CA'),
  cert: read('LUMBERJACK_CERT'),
  key: read('LUMBERJACK_KEY')
}
const payloads = []
let client

if (kind === 'protocol') {
  client = require(`${modules}/lumberjack-protocol`).client(tlsOptions, options)
} else {
  const stream = require(`${modules}/bunyan-lumberjack`)({ tlsOptions, lumberjackOptions: { ...options, unref: false } })
  client = stream._client
  const logger = require(`${modules}/bunyan`).createLogger({
    name: 'interop', streams: [{ type: 'raw', level: 'info', stream }]
  })
  client.log = (n) => logger.info({ n }, '<é & 🦀>'.repeat(n % 23))
}

// Records each encoded event.
const write = client.writeDataFrame.bind(client)
client.writeDataFrame = (frame) => {
  payloads.push(JSON.stringify(frame))
  write(frame)
}

client.on('disconnect', (error) => error && console.log('disconnected:', error.message))
client.on('connect', () => {
  for (let n = 0; n < Number(count); n++) {
    if (client.log) {
      client.log(n)
    } else {
      client.writeDataFrame({ n: String(n), line: '<é & 🦀>'.repeat(n % 23), host: 'node' })
    }
  }
})
const timer = setInterval(() => {
  if (client._socket && client._socket.lastAck === Number(count)) {
    clearInterval(timer)
    console.log(JSON.stringify({ payloads }))
    client.close()
  }
}, 10)
