// The writer of the npm package lumberjack-client: never reads acknowledgements, runs until killed.
//
//     node lumberjack_client.js PACKAGE PORT COUNT
//
// Encrypted if LUMBERJACK_CA names an authority; LUMBERJACK_CERT and LUMBERJACK_KEY name a certificate to present.
// Half of the events are logged before it connects and are sent as one window; the others have one window each.
'use strict'

const [, , location, port, count] = process.argv
const LumberjackClient = require(location)
const fs = require('fs')

const read = (name) => process.env[name] && fs.readFileSync(process.env[name])
const tls = { ca: read('LUMBERJACK_CA'), cert: read('LUMBERJACK_CERT'), key: read('LUMBERJACK_KEY') }
const connected = tls.ca ? 'secureConnect' : 'connect'

const payloads = []
const client = new LumberjackClient({ host: '127.0.0.1', port: Number(port), ...tls }, !!tls.ca)

function log (from, to) {
  for (let n = from; n < to; n++) {
    const event = { n, '@metadata': { beat: 'node' }, message: '<é & 🦀>'.repeat(n % 23) }
    payloads.push(JSON.stringify(event))
    client.log(event)
  }
}

log(0, count >> 1)
client.socket.on(connected, () => setImmediate(() => {
  log(count >> 1, Number(count))
  console.log(JSON.stringify({ payloads }))
}))
setInterval(() => {}, 1000)
