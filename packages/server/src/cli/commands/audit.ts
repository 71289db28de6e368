import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type LedgerEntry, ParleyError } from '@parley/protocol'
import { ledgerLine } from '../../proof/verify-ledger.ts'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'

type Server = Awaited<ReturnType<typeof connect>>

const pageSize = 1000

/** Prints the last entry of the ledger or the last seal of a session, in the form that `parley verify --head` takes. */
export async function auditHead(
  session: string | undefined,
  options: Flags & { readonly json?: boolean },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const head = session === undefined ? await ledgerHead(server) : await sessionHead(server, session, context)
  context.output.out(options.json ? `${JSON.stringify(head)}\n` : `${head.head}\n`)
  return 0
}

async function ledgerHead({ client }: Server) {
  const { head } = await client.call('listAudit', { query: { limit: 1 } })
  if (!head) throw new ParleyError('not_found', 'The ledger is empty.')
  const { n, at, hash, keyId } = head
  return { head: `${n}:${hash}`, n, at, hash, keyId }
}

async function sessionHead({ client }: Server, reference: string, context: Context) {
  const id = await findSession(client, reference, context)
  await client.call('sealLog', { params: { id } })
  const { sealed } = await client.call('getSession', { params: { id }, query: { tail: 0 } })
  if (!sealed) throw new ParleyError('not_found', `Session ${id} has no seal.`)
  return { head: `${id}:${sealed.seq}:${sealed.hash}`, sessionId: id, ...sealed }
}

/** Prints the whole ledger, one entry per line, or writes it to a file. */
export async function auditExport(
  options: Flags & { readonly output?: string },
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const lines: string[] = []
  for await (const entry of entriesOf(server)) lines.push(`${ledgerLine(entry)}\n`)
  if (options.output === undefined || options.output === '-') context.output.out(lines.join(''))
  else {
    const file = resolve(context.cwd, options.output)
    try {
      writeFileSync(file, lines.join(''), { mode: 0o600 })
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      throw new ParleyError('validation_error', `${file} cannot be written (${code}).`, { cause: thrown })
    }
    context.output.err(`Written: ${file}\n`)
  }
  return 0
}

async function* entriesOf({ client }: Server): AsyncGenerator<LedgerEntry> {
  for (let after = 0; ; ) {
    const { entries } = await client.call('listAudit', { query: { after, limit: pageSize } })
    yield* entries
    const last = entries.at(-1)
    if (!last) return
    after = last.n
  }
}

/** Prints the public keys of the server, one on each line, in the form that `parley verify --key` takes. */
export async function auditKeys(options: Flags, context: Context): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { keys } = await server.client.call('listSealKeys')
  for (const { publicKey } of keys) context.output.out(`${publicKey}\n`)
  return 0
}
