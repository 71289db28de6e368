#!/usr/bin/env node
/**
 * A small agent. It reads and writes one JSON message per line, and has no model. Replace it with your own agent.
 *
 *   agent.js                  starts a conversation
 *   agent.js --resume <id>    continues one
 *   agent.js --version
 *
 * It understands these prompts, and repeats every other one:
 *   write "text" to file      replace "old" by "new" in file      what did I say?      wait      surprise      crash
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [option, id] = process.argv.slice(2)
if (option === '--version') {
  console.log('1.0.0')
  process.exit()
}

const session = option === '--resume' && id ? id : randomUUID()
const folder = process.env.MY_AGENT_HOME ?? join(homedir(), '.my-agent')
const record = join(folder, `${session}.jsonl`)
mkdirSync(folder, { recursive: true })

/** @typedef {{ prompt?: string, outcome?: string }} Entry A prompt, or the outcome of a call. */
/** @type {Entry[]} The conversation, which is also stored. */
const memory = existsSync(record)
  ? readFileSync(record, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : []

/** @param {Entry} entry */
function remember(entry) {
  memory.push(entry)
  appendFileSync(record, `${JSON.stringify(entry)}\n`)
}

/** @param {object} message */
function send(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

/** @param {string} text */
function speak(text) {
  const block = randomUUID()
  for (const piece of text.split(/(?<= )/)) send({ type: 'piece', block, text: piece })
  send({ type: 'text', block, text })
}

/** The answer that a call waits for. @type {((isAllowed: boolean | undefined) => void) | undefined} */
let answer

/**
 * Asks whether a file may be changed, and changes it.
 * @param {string} tool
 * @param {Record<string, string>} input
 * @param {() => void} change
 */
async function call(tool, input, change) {
  const callId = randomUUID()
  send({ type: 'call', call: callId, tool, input })
  send({ type: 'ask', call: callId })
  const isAllowed = await new Promise((resolve) => {
    answer = resolve
  })
  if (isAllowed) change()
  const outcome = isAllowed ? 'completed' : isAllowed === false ? 'denied' : 'cancelled'
  remember({ outcome })
  send({ type: 'result', call: callId, outcome })
  speak(`The change was ${outcome}.`)
}

let stop = new AbortController()

/** @type {[RegExp, (...words: string[]) => void | Promise<void>][]} */
const commands = [
  [/^write "(.*)" to (\S+)$/, (text, path) => call('write', { path, text }, () => writeFileSync(path, text))],
  [
    /^replace "(.*)" by "(.*)" in (\S+)$/,
    (old, text, path) =>
      call('replace', { path, old, text }, () =>
        writeFileSync(
          path,
          readFileSync(path, 'utf8').replace(old, () => text),
        ),
      ),
  ],
  [/^what did I say\?$/, () => speak(memory.flatMap(({ prompt = [] }) => prompt).join(' '))],
  [
    /^wait$/,
    () => {
      speak('I wait until I am stopped.')
      return new Promise((resolve) => stop.signal.addEventListener('abort', () => resolve()))
    },
  ],
  [/^surprise$/, () => send({ type: 'confetti', pieces: 7 })],
  [/^crash$/, () => process.exit(3)],
]

/** @param {string} prompt */
async function turn(prompt) {
  stop = new AbortController()
  const [pattern, run] = commands.find(([one]) => one.test(prompt)) ?? [
    /(.*)/s,
    () => speak(`You said: ${prompt}`),
  ]
  await run(...(pattern.exec(prompt)?.slice(1) ?? []))
  send({ type: 'end', stopped: stop.signal.aborted })
}

/** Repeats the last prompt, unless its call has ended. @returns {Promise<void>} */
async function again() {
  const { outcome } = memory.at(-1) ?? {}
  const prompt = memory.findLast((entry) => entry.prompt !== undefined)?.prompt ?? ''
  if (outcome === undefined) return turn(prompt)
  speak(`The change was ${outcome}.`)
  send({ type: 'end', stopped: false })
}

send({ type: 'ready', session, version: '1.0.0' })
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.type === 'prompt') {
    remember({ prompt: message.text })
    void turn(message.text)
  }
  if (message.type === 'continue') void again()
  if (message.type === 'answer') answer?.(message.allowed)
  if (message.type === 'stop') {
    stop.abort()
    answer?.(undefined)
  }
})
