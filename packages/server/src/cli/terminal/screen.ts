import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline'
import type { Output } from './output.ts'
import type { Piece } from './transcript.ts'

/** The terminal of one command: what a session says goes up, what a person types comes down. */
export type Screen = {
  /** While a question stands, this waits behind it. */
  print(pieces: readonly Piece[]): void
  /** A line of our own, at once. */
  say(line: string): void
  /** Everything else waits until `work` is done. */
  ask<Answer>(work: (keyboard: Keyboard) => Promise<Answer>): Promise<Answer>
  close(): void
}

export type Keyboard = {
  /** The next line typed; nothing at the end of input. Rejects with the signal's reason. */
  line(prompt: string, signal: AbortSignal): Promise<string | undefined>
}

export type ScreenOptions = {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
  readonly output: Output
  readonly onInterrupt: () => void
  /** With it, a person can type between questions too. */
  readonly typing?: { readonly prompt: string; onLine(line: string): void; onEnd(): void }
}

export function createScreen(options: ScreenOptions): Screen {
  return new TerminalScreen(options)
}

class TerminalScreen implements Screen {
  readonly #options: ScreenOptions
  #lines: Interface | undefined
  #held: Piece[] | undefined
  #isPromptShown = false
  #isMidLine = false
  /** Typed within a question, before it was asked for. */
  #typed: string[] = []
  #waiting: ((line: string | undefined) => void) | undefined

  constructor(options: ScreenOptions) {
    this.#options = options
    if (options.typing) this.#open()
  }

  print(pieces: readonly Piece[]): void {
    if (this.#held) this.#held.push(...pieces)
    else this.#write(pieces)
  }

  say(line: string): void {
    this.#write([{ to: 'err', text: `${this.#isMidLine ? '\n' : ''}${line}\n` }])
  }

  async ask<Answer>(work: (keyboard: Keyboard) => Promise<Answer>): Promise<Answer> {
    this.#hidePrompt()
    this.#held = []
    this.#typed = []
    if (!this.#lines) this.#open()
    try {
      return await work({ line: (prompt, signal) => this.#line(prompt, signal) })
    } finally {
      if (!this.#options.typing) this.close()
      const held = this.#held
      this.#held = undefined
      this.#write(held)
    }
  }

  close(): void {
    const lines = this.#lines
    this.#lines = undefined
    lines?.close()
  }

  #open(): void {
    const { stdin, stderr, typing, onInterrupt } = this.#options
    const lines = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 100 })
    this.#lines = lines
    lines.setPrompt(typing?.prompt ?? '')
    lines.on('SIGINT', onInterrupt)
    lines.on('line', (line) => this.#take(line))
    lines.on('close', () => {
      if (this.#lines !== lines) return
      this.#lines = undefined
      this.#waiting?.(undefined)
      typing?.onEnd()
    })
  }

  #take(line: string): void {
    this.#isPromptShown = false
    this.#isMidLine = false
    if (this.#waiting) this.#waiting(line)
    else if (this.#held) this.#typed.push(line)
    else {
      this.#options.typing?.onLine(line)
      this.#showPrompt()
    }
  }

  #line(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    const typed = this.#typed.shift()
    if (typed !== undefined) return Promise.resolve(typed)
    const lines = this.#lines
    if (!lines) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => {
      const settle = (result: () => void) => {
        this.#waiting = undefined
        signal.removeEventListener('abort', drop)
        lines.setPrompt(this.#options.typing?.prompt ?? '')
        result()
      }
      const drop = () => {
        lines.write(null, { ctrl: true, name: 'e' })
        lines.write(null, { ctrl: true, name: 'u' })
        this.#options.output.err('\n')
        settle(() => reject(signal.reason))
      }
      this.#waiting = (line) => settle(() => resolve(line))
      signal.addEventListener('abort', drop, { once: true })
      lines.setPrompt(prompt)
      lines.prompt()
    })
  }

  #write(pieces: readonly Piece[]): void {
    const { output } = this.#options
    if (pieces.length === 0) return this.#showPrompt()
    this.#hidePrompt()
    for (const { to, text, overRow } of pieces) {
      output[to](overRow ? `\u001b[1A\u001b[2K${text}` : text)
      this.#isMidLine = !text.endsWith('\n')
    }
    this.#showPrompt()
  }

  #showPrompt(): void {
    if (!this.#lines || !this.#options.typing || this.#held || this.#isMidLine || this.#isPromptShown) return
    this.#lines.prompt(true)
    this.#isPromptShown = true
  }

  #hidePrompt(): void {
    if (!this.#isPromptShown || !this.#lines) return
    const { stderr } = this.#options
    moveCursor(stderr, 0, -this.#lines.getCursorPos().rows)
    cursorTo(stderr, 0)
    clearScreenDown(stderr)
    this.#isPromptShown = false
  }
}
