import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { readJsonLines } from '../json-lines.ts'

/** Runs an agent, and records its messages to and from its host: `tee.ts <file> <program> [argument…]`. */
const [file = '', program = '', ...args] = process.argv.slice(2)
const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })

function pass(from: 'agent' | 'host', input: Readable, output: Writable): void {
  readJsonLines(input, {
    message(message) {
      appendFileSync(file, `${JSON.stringify({ from, message })}\n`)
      output.write(`${JSON.stringify(message)}\n`)
    },
    garbage: (line) => void output.write(`${line}\n`),
    end: () => void output.end(),
  })
}

pass('host', process.stdin, agent.stdin)
pass('agent', agent.stdout, process.stdout)
agent.once('exit', (code) => process.exit(code ?? 1))
