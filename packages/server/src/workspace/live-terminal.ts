import { readFileSync } from 'node:fs'
import type { IPty } from '@lydell/node-pty'
import type { Terminal, TerminalServerFrame } from '@parley/protocol'
import type { SerializeAddon } from '@xterm/addon-serialize'
import type { Terminal as Screen } from '@xterm/headless'
import type { TerminalParts } from './terminal-parts.ts'
import { type ReaderLimits, type TerminalReader, TerminalReaders } from './terminal-readers.ts'
import type { TerminalStart, TerminalView } from './terminal-view.ts'

const scrollback = 5_000
const graceMs = 1_000
/** The exit code that a shell reports for a program ended by SIGHUP. */
const killedExitCode = 129

type TerminalSurroundings = {
  readonly parts: TerminalParts
  readonly env: Readonly<Record<string, string | undefined>>
  readonly terminalId: string
  readonly startedAt: number
  readonly limits: Partial<ReaderLimits> | undefined
}

/** A terminal whose program was started, with its screen and its readers. */
export class LiveTerminal {
  readonly #pty: IPty
  readonly #screen: Screen
  readonly #serializer: SerializeAddon
  readonly #readers: TerminalReaders
  /** Readers that have not received the screen yet, with the output since they joined. */
  readonly #joining = new Map<TerminalReader, TerminalServerFrame[]>()
  readonly #isShell: boolean
  readonly #program: string
  #about: Terminal

  constructor(
    { sessionId, folder, cols, rows, command }: TerminalStart,
    { parts, env, terminalId, startedAt, limits }: TerminalSurroundings,
  ) {
    const [program = env.SHELL || '/bin/sh', ...args] = command ?? []
    this.#isShell = command === undefined
    this.#program = nameOf(program)
    this.#about = { terminalId, sessionId, title: nameOf(program), startedAt, cols, rows }
    this.#screen = new parts.Screen({ cols, rows, scrollback, allowProposedApi: true })
    this.#serializer = new parts.SerializeAddon()
    this.#screen.loadAddon(this.#serializer)
    this.#screen.onTitleChange((title) => {
      this.#about = { ...this.#about, title: title.slice(0, 200) }
    })
    this.#pty = parts.spawn(program, args, {
      name: 'xterm-256color',
      cols,
      rows,
      cwd: folder,
      env: shellEnvironment(env),
    })
    this.#readers = new TerminalReaders(this.#pty, limits)
    this.#pty.onData((data) => this.#write(data))
    this.#pty.onExit(({ exitCode }) => this.#exited(exitCode))
  }

  get about(): Terminal {
    const running = this.#running()
    return { ...this.#about, ...(running !== undefined && { running }) }
  }

  #running(): string | undefined {
    if (!this.#isOpen) return undefined
    try {
      const name = nameOf(this.#pty.process).replace(/^-/, '')
      const waits = this.#isShell && (isInForeground(this.#pty.pid) ?? name === this.#program)
      return waits || name === '' ? undefined : name.slice(0, 200)
    } catch {
      return undefined
    }
  }

  watch(reader: TerminalReader): TerminalView {
    this.#joining.set(reader, [])
    this.#screen.write('', () => this.#join(reader))
    return {
      input: (data) => this.#unlessGone(() => this.#pty.write(data)),
      resize: (width, height) => this.#resize(width, height),
      drained: () => this.#readers.drained(reader),
      leave: () => {
        this.#joining.delete(reader)
        this.#readers.remove(reader)
      },
    }
  }

  /** Called when the screen has processed all output from before the reader joined. */
  #join(reader: TerminalReader): void {
    const since = this.#joining.get(reader)
    if (!since) return
    const { cols, rows, exitCode } = this.#about
    this.#joining.delete(reader)
    this.#readers.add(reader)
    this.#readers.showOnly(reader, { type: 'screen', data: this.#serializer.serialize(), cols, rows })
    for (const frame of since) this.#readers.showOnly(reader, frame)
    if (exitCode !== undefined) this.#readers.showOnly(reader, { type: 'exited', exitCode })
  }

  /** Ends the terminal for all readers. A program that ignores SIGHUP is killed. */
  end(): void {
    const { exitCode = killedExitCode } = this.#about
    for (const reader of this.#joining.keys()) this.#readers.add(reader)
    this.#readers.show({ type: 'exited', exitCode })
    this.#readers.clear()
    this.#joining.clear()
    this.#unlessGone(() => this.#pty.kill('SIGHUP'))
    const force = setTimeout(() => this.#unlessGone(() => this.#pty.kill('SIGKILL')), graceMs)
    this.#pty.onExit(() => clearTimeout(force))
    if (!this.#isOpen) clearTimeout(force)
    this.#screen.dispose()
  }

  /**
   * Runs `work` unless the program has ended. Returns false if it has ended, even if its exit was not
   * reported yet.
   */
  #unlessGone(work: () => void): boolean {
    if (!this.#isOpen) return false
    try {
      work()
      return true
    } catch {
      return false
    }
  }

  get #isOpen(): boolean {
    return this.#about.exitCode === undefined
  }

  #write(data: string): void {
    this.#screen.write(data, this.#readers.givenToScreen(data.length))
    for (const since of this.#joining.values()) since.push({ type: 'output', data })
    this.#readers.show({ type: 'output', data })
  }

  #resize(cols: number, rows: number): void {
    if (cols === this.#about.cols && rows === this.#about.rows) return
    if (!this.#unlessGone(() => this.#pty.resize(cols, rows))) return
    this.#about = { ...this.#about, cols, rows }
    this.#screen.resize(cols, rows)
    this.#readers.show({ type: 'resized', cols, rows })
  }

  #exited(exitCode: number): void {
    this.#about = { ...this.#about, exitCode }
    this.#readers.show({ type: 'exited', exitCode })
  }
}

/**
 * True if the shell itself, and not a program that it started, is in the foreground of its terminal. Undefined if the
 * system does not report this.
 */
function isInForeground(pid: number): boolean | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return group === foreground
  } catch {
    return undefined
  }
}

function nameOf(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

/** The person's own environment, without the variables of Parley and of npm. */
function shellEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept = Object.entries(env).filter(
    ([name, value]) => value !== undefined && !name.startsWith('PARLEY_') && !name.startsWith('npm_'),
  ) as [string, string][]
  return { ...Object.fromEntries(kept), TERM: 'xterm-256color', COLORTERM: 'truecolor' }
}
