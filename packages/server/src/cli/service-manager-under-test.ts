import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Replacements for `systemctl`, `loginctl` and `journalctl`, because tests run without a systemd of the user. They
 * record their arguments. `systemctl` starts and stops the command of the unit as systemd does.
 */
export type StandIns = {
  /** The PATH on which a command finds the replacements. */
  readonly path: string
  readonly unit: (name?: string) => string
  /** The calls so far: the program and its arguments. */
  calls(): string[]
  changeUnit(change: (unit: string) => string): void
  /** Ends the process of the unit, as a crash does. Does nothing if it has ended. */
  killService(): void
  pid(): number | undefined
}

export function createStandIns(folder: string): StandIns {
  const bin = join(folder, 'bin')
  const state = join(folder, 'systemd')
  for (const made of [bin, state]) mkdirSync(made)
  for (const name of ['systemctl', 'loginctl', 'journalctl']) {
    const text = `#!/bin/sh\nexec '${process.execPath}' '${join(state, 'stand-in.mjs')}' ${name} "$@"\n`
    writeFileSync(join(bin, name), text, { mode: 0o755 })
  }
  writeFileSync(join(state, 'stand-in.mjs'), program(state))
  const pidFile = join(state, 'pid')
  const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : undefined)
  return {
    path: `${bin}:${process.env.PATH}`,
    unit: (name = 'parley') => join(folder, '.config/systemd/user', `${name}.service`),
    calls: () =>
      existsSync(join(state, 'calls')) ? readFileSync(join(state, 'calls'), 'utf8').trim().split('\n') : [],
    changeUnit(change) {
      const file = join(folder, '.config/systemd/user/parley.service')
      writeFileSync(file, change(readFileSync(file, 'utf8')))
    },
    killService() {
      const running = pid()
      try {
        if (running !== undefined) process.kill(running, 'SIGKILL')
      } catch (thrown) {
        if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')) throw thrown
      }
    },
    pid,
  }
}

const program = (state: string) => `
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const [name, ...args] = process.argv.slice(2)
const state = ${JSON.stringify(state)}
appendFileSync(state + '/calls', [name, ...args].join(' ') + '\\n')
const read = (file) => (existsSync(state + '/' + file) ? readFileSync(state + '/' + file, 'utf8') : undefined)
const isAlive = (pid) => {
  try {
    process.kill(pid, 0)
    return !/^State:\\s+Z/m.test(readFileSync('/proc/' + pid + '/status', 'utf8'))
  } catch {
    return false
  }
}
const running = () => {
  const pid = Number(read('pid'))
  return pid > 0 && isAlive(pid) ? pid : 0
}
const stop = async () => {
  const pid = running()
  if (pid) process.kill(pid, 'SIGTERM')
  while (pid && isAlive(pid)) await pause(10)
  rmSync(state + '/pid', { force: true })
}
const words = (line) =>
  [...line.matchAll(/"((?:[^"\\\\]|\\\\.)*)"/g)].map(([, word]) =>
    word.replaceAll('%%', '%').replace(/\\\\(.)/g, (_, one) => (one === 'n' ? '\\n' : one === 't' ? '\\t' : one)),
  )
const start = async (unit) => {
  await stop()
  const text = readFileSync(process.env.HOME + '/.config/systemd/user/' + unit, 'utf8')
  const lines = (key) => text.split('\\n').filter((line) => line.startsWith(key + '=')).map((line) => words(line))
  const [command, ...rest] = lines('ExecStart')[0].map((word) => word.replaceAll('$$', '$'))
  const env = Object.fromEntries(lines('Environment').map(([pair]) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
  const child = spawn(command, rest, { env: { HOME: process.env.HOME, ...env }, detached: true, stdio: 'ignore' })
  writeFileSync(state + '/pid', String(child.pid))
  child.unref()
}
const verbs = {
  'daemon-reload': () => undefined,
  'reset-failed': () => undefined,
  enable: () => writeFileSync(state + '/enabled', ''),
  restart: start,
  async disable() {
    rmSync(state + '/enabled', { force: true })
    await stop()
  },
  show() {
    const wasStarted = read('pid') !== undefined
    const active = running() ? 'active' : wasStarted ? 'failed' : 'inactive'
    const result = active === 'failed' ? 'signal' : 'success'
    console.log('ActiveState=' + active + '\\nMainPID=' + running() + '\\nResult=' + result)
    console.log('UnitFileState=' + (read('enabled') === undefined ? 'disabled' : 'enabled'))
  },
}
if (name === 'loginctl' && args[0] === 'enable-linger') writeFileSync(state + '/linger', '')
if (name === 'loginctl' && args[0] === 'show-user') console.log('Linger=' + (read('linger') === undefined ? 'no' : 'yes'))
if (name === 'journalctl') console.log(args.includes('--output=cat') ? '{"msg":"listening"}' : 'a line of the log')
if (name === 'systemctl') {
  const [, verb, ...rest] = args
  if (process.env.NO_USER_SYSTEMD) {
    console.error('Failed to connect to bus: No medium found')
    process.exit(1)
  }
  await verbs[verb](rest.at(-1))
}
`
