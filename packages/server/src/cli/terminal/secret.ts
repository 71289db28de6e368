import { text } from 'node:stream/consumers'
import { ParleyError } from '@parley/protocol'
import type { Context } from '../context.ts'

/** Reads a secret from a pipe, or from a terminal without echo, and removes one line end after it. */
export async function readSecret(
  question: string,
  { stdin, output }: Pick<Context, 'stdin' | 'output'>,
): Promise<string> {
  const secret = output.canAsk ? await typed(question, stdin, output) : await text(stdin)
  const value = secret.replace(/\r?\n$/, '')
  if (value === '') throw new ParleyError('validation_error', 'No value was given on stdin.')
  return value
}

async function typed(question: string, stdin: Context['stdin'], output: Context['output']): Promise<string> {
  // Raw mode is set before the prompt is shown, because input is echoed until it is set.
  stdin.setRawMode(true)
  output.err(question)
  stdin.setEncoding('utf8')
  try {
    let value = ''
    for await (const keys of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      for (const key of keys) {
        if (key === '\r' || key === '\n') return value
        if (key === '\u0003' || key === '\u0004') throw new ParleyError('cancelled', 'Nothing was changed.')
        value = key === '\u007f' ? value.slice(0, -1) : value + key
      }
    }
    return value
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    output.err('\n')
  }
}
