import { createStyle, isColoured, type Style } from './style.ts'

/** The standard streams of the program. `out` gets the agent's text and requested data, `err` the rest. */
export type Output = {
  out(text: string): void
  err(text: string): void
  readonly outStyle: Style
  readonly errStyle: Style
  readonly isOutTerminal: boolean
  readonly isErrTerminal: boolean
  /** Whether a person can be asked: stdin and stderr are terminals. */
  readonly canAsk: boolean
  columns(): number
  /** Aborts when the reader of the output closes the pipe (`| head`). Later output is dropped. */
  readonly readerLeft: AbortSignal
  flush(): Promise<void>
}

/**
 * Prints the result of a command: with `json` as JSON on stdout, otherwise as a sentence on stderr. Returns exit code
 * 0.
 */
export function printResult(
  output: Output,
  json: boolean | undefined,
  result: { readonly value: unknown; readonly text: string },
): number {
  if (json) output.out(`${JSON.stringify(result.value)}\n`)
  else output.err(`${result.text}\n`)
  return 0
}

export type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env'>

export function createOutput({ stdin, stdout, stderr, env }: Streams): Output {
  const left = new AbortController()
  stdout.on('error', () => left.abort())
  stderr.on('error', () => {})
  const isOutTerminal = stdout.isTTY === true
  const isErrTerminal = stderr.isTTY === true
  return {
    out(text) {
      if (!left.signal.aborted) stdout.write(text)
    },
    err(text) {
      stderr.write(text)
    },
    outStyle: createStyle(isColoured(isOutTerminal, env)),
    errStyle: createStyle(isColoured(isErrTerminal, env)),
    isOutTerminal,
    isErrTerminal,
    canAsk: stdin.isTTY === true && isErrTerminal,
    columns: () => stderr.columns || stdout.columns || 80,
    readerLeft: left.signal,
    async flush() {
      await Promise.all([drained(stdout), drained(stderr)])
    },
  }
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve()
    stream.write('', () => resolve())
  })
}
