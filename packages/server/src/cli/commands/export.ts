import { writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ExportFormat, ParleyError } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { visible } from '../terminal/visible.ts'

export type ExportOptions = Flags & {
  readonly as?: string
  readonly output?: string
  readonly proof?: boolean
}

/** Writes the whole session to a file or to stdout. */
export async function exportSession(
  reference: string,
  options: ExportOptions,
  context: Context,
): Promise<number> {
  const as = formatOf(options.as)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const text = await server.client.call('exportSession', {
    params: { id },
    query: { as, ...(options.proof && { proof: 'true' as const }) },
  })
  if (options.output === undefined || options.output === '-') {
    // On a terminal, control sequences in an agent's text must not take effect. A file or a pipe gets the text
    // unchanged.
    context.output.out(context.output.isOutTerminal ? visible(text) : text)
    return 0
  }
  const file = resolve(context.cwd, options.output)
  try {
    writeFileSync(file, text, { mode: 0o600 })
  } catch (thrown) {
    throw new ParleyError('validation_error', unwritableText(file, thrown), { cause: thrown })
  }
  context.output.err(`Written: ${file}\n`)
  return 0
}

function unwritableText(file: string, thrown: unknown): string {
  const { code } = thrown as NodeJS.ErrnoException
  if (code !== 'ENOENT') return `${file} cannot be written (${code}).`
  return `${file} cannot be written: there is no folder ${dirname(file)}. Create it first.`
}

function formatOf(given: string | undefined): ExportFormat {
  if (given === undefined) return 'jsonl'
  const format = ExportFormat.safeParse(given)
  if (format.success) return format.data
  const known = ExportFormat.options.join(', ')
  throw new ParleyError('validation_error', `--as takes one of ${known}, not "${given}".`)
}
