import { createCommandLine } from './command-line.ts'
import type { Context } from './context.ts'
import { createStyle } from './terminal/style.ts'

/** A context of the program, and its output. */
export function contextUnderTest({ env, cwd }: { env: Record<string, string>; cwd: string }) {
  const said = { out: '', err: '' }
  const plain = createStyle(false)
  const context: Context = {
    env,
    cwd,
    invocation: 'parley',
    program: ['node', 'parley'],
    commandLine: createCommandLine({ invocation: 'parley' }),
    stdin: process.stdin,
    output: {
      out(text) {
        said.out += text
      },
      err(text) {
        said.err += text
      },
      outStyle: plain,
      errStyle: plain,
      isOutTerminal: false,
      isErrTerminal: false,
      canAsk: false,
      columns: () => 100,
      readerLeft: new AbortController().signal,
      flush: async () => {},
    },
  }
  return { said, context }
}
