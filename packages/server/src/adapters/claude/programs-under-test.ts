import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClaudeAdapter } from './index.ts'

/** The faults, as code that the wrapper runs once, before it passes on the streamed line that contains `words`. */
export const faults = {
  dies: "process.stderr.write('words '.repeat(10_000) + 'The disk is on fire.\\n'); return leave(3)",
  leaves: 'return leave(0)',
  babbles: `process.stdout.write(${JSON.stringify(
    ['Hello, I am not JSON.', '{"type":"stream_ev', '[1, 2', '42', '"words"', ''].join('\n'),
  )})`,
  'says null': "process.stdout.write('null\\n')",
  'speaks of news': `process.stdout.write('{"type":"news","of":"nobody knows what"}\\n')`,
  'ends without errors': `process.stdout.write(${JSON.stringify(
    `${JSON.stringify({ type: 'result', subtype: 'error_during_execution', is_error: true, uuid: 'u', session_id: 's' })}\n`,
  )})`,
  'floods stderr': "process.stderr.write('words '.repeat(400_000) + 'The very last words.\\n')",
} as const
export type Fault = keyof typeof faults

/** Wraps the real program. The wrapper fails once, when `words` are streamed, and otherwise works normally. */
export function faultyProgram(folder: string, fault: Fault, words: string): string {
  const been = JSON.stringify(join(folder, `${fault} was here`))
  const code = `
const { spawn } = require('node:child_process')
const { existsSync, writeFileSync } = require('node:fs')
const real = spawn(${JSON.stringify(realProgram())}, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(real.stdin)
real.stdin.on('error', () => undefined)
real.on('exit', (code) => process.exit(process.exitCode ?? code ?? 1))
let leaving = false
const leave = (code) => {
  leaving = true
  process.exitCode = code
  real.kill('SIGKILL')
}
const passOn = (line) => {
  if (leaving) return
  if (line.includes('_delta') && line.includes(${JSON.stringify(words)}) && !existsSync(${been})) {
    writeFileSync(${been}, '')
    ${faults[fault]}
  }
  process.stdout.write(line + '\\n')
}
let rest = ''
real.stdout.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n')
  rest = lines.pop()
  for (const line of lines) passOn(line)
})
`
  return script(join(folder, `faulty-${fault.replaceAll(' ', '-')}`), `#!${process.execPath}\n${code}`)
}

/** Wraps the real program. The wrapper repeats all earlier output when it resumes a conversation. */
export function repeatingProgram(folder: string): string {
  const said = JSON.stringify(join(folder, 'said'))
  const code = `
const { spawn } = require('node:child_process')
const { appendFileSync, existsSync, readFileSync } = require('node:fs')
const before = process.argv.some((one) => one.startsWith('--resume')) && existsSync(${said}) ? readFileSync(${said}, 'utf8') : ''
const real = spawn(${JSON.stringify(realProgram())}, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] })
process.stdin.pipe(real.stdin)
real.stdin.on('error', () => undefined)
real.on('exit', (code) => process.exit(code ?? 1))
let repeated = before === ''
let rest = ''
real.stdout.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n')
  rest = lines.pop()
  for (const line of lines) {
    if (line.startsWith('{"type":"assistant"')) appendFileSync(${said}, line + '\\n')
    if (!repeated && line.includes('message_start')) {
      repeated = true
      process.stdout.write(before)
    }
    process.stdout.write(line + '\\n')
  }
})
`
  return script(join(folder, 'repeating'), `#!${process.execPath}\n${code}`)
}

/** Wraps the real program. The wrapper writes its process id to a file. */
export function knownProgram(folder: string): { path: string; pid(): number } {
  const file = join(folder, 'pid')
  const path = script(join(folder, 'known'), `#!/bin/sh\necho $$ > '${file}'\nexec '${realProgram()}' "$@"\n`)
  return { path, pid: () => Number(readFileSync(file, 'utf8')) }
}

/** A program that consists of this shell script. */
export function shellProgram(folder: string, name: string, lines: string): string {
  return script(join(folder, name), `#!/bin/sh\n${lines}\n`)
}

function script(path: string, text: string): string {
  writeFileSync(path, text)
  chmodSync(path, 0o755)
  return path
}

let real: string | undefined

function realProgram(): string {
  if (real === undefined) throw new Error('Call findRealProgram first.')
  return real
}

export async function findRealProgram(): Promise<void> {
  const { path } = await createClaudeAdapter({ env: {} }).probe(new AbortController().signal)
  if (!path || !existsSync(path)) throw new Error('Claude Code is not installed here.')
  real = path
}
