import type { Client } from '@parley/client'
import { AlertDetail, AlertKind, defined, type NewTarget, ParleyError, type Target } from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { ageText } from '../durations.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { referredTo } from '../reference.ts'
import { shownIds } from '../session-reference.ts'
import { printResult } from '../terminal/output.ts'
import { printList } from '../terminal/table.ts'
import { oneLine } from '../terminal/visible.ts'

export type NotifyOptions = Flags & { readonly json?: boolean }
export type AddOptions = NotifyOptions & {
  readonly name?: string
  readonly on?: string
  readonly detail?: string
}

const columns = [
  { name: 'ID' },
  { name: 'KIND' },
  { name: 'NAME', shrinks: true },
  { name: 'ADDRESS', shrinks: true },
  { name: 'ALERTS', shrinks: true },
  { name: 'DETAIL' },
  { name: 'LAST', shrinks: true },
]

export async function listTargets(options: NotifyOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { targets } = await server.client.call('listTargets')
  const shown = shownIds(
    targets.map(({ targetId }) => targetId),
    output,
  )
  const row = (target: Target) => [
    shown(target.targetId),
    ...[target.kind, target.name, target.address, alertsText(target), target.detail, lastText(target)],
  ]
  const empty = `There are no targets for alerts. Add a webhook: ${commandLine('notify add webhook <url>')}`
  printList(targets, { columns, row, empty }, { json: options.json, output })
  return 0
}

function alertsText({ alerts }: Target): string {
  return alerts.length === AlertKind.options.length ? 'all' : alerts.join(',')
}

function lastText({ disabledAt, last }: Target): string {
  const result = last && `${last.ok ? 'sent' : (last.error ?? 'failed')}, ${ageText(Date.now() - last.at)}`
  return disabledAt === undefined ? (result ?? 'never sent') : `disabled${result ? `; ${result}` : ''}`
}

export async function addTarget(
  kind: string,
  url: string,
  options: AddOptions,
  context: Context,
): Promise<number> {
  const { output, commandLine, env } = context
  const { name, on, detail } = options
  const settings = defined({ name, alerts: on && kindsOf(on), detail: detail && detailOf(detail) })
  const token = env.NTFY_TOKEN || undefined
  const body = { kind, url, ...settings, ...(kind === 'ntfy' && defined({ token })) } as NewTarget
  if (kind !== 'webhook' && kind !== 'ntfy')
    throw new ParleyError('validation_error', `The kind of a target is webhook or ntfy, not "${kind}".`)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const added = await server.client.call('createTarget', { body })
  if (options.json) {
    output.out(`${JSON.stringify(added)}\n`)
    return 0
  }
  if (added.secret !== undefined) output.out(`${added.secret}\n`)
  output.err(
    [
      `Alerts are sent to ${oneLine(added.name)} (${added.targetId}).`,
      ...(added.secret === undefined
        ? []
        : [
            'The secret signs the requests to this webhook (Standard Webhooks). The secret is not shown again.',
          ]),
      `To try it: ${commandLine(`notify test ${added.targetId}`)}\n`,
    ].join('\n'),
  )
  return 0
}

function kindsOf(text: string): AlertKind[] {
  return text.split(',').map((one) => {
    const kind = AlertKind.safeParse(one.trim()).data
    if (kind) return kind
    throw new ParleyError('validation_error', `--on takes ${AlertKind.options.join(', ')}, not "${one}".`)
  })
}

function detailOf(text: string): AlertDetail {
  const detail = AlertDetail.safeParse(text).data
  if (detail) return detail
  throw new ParleyError(
    'validation_error',
    `--detail takes ${AlertDetail.options.join(', ')}, not "${text}".`,
  )
}

/** The exit code is 1 if the target did not accept the alert. */
export async function testTarget(
  reference: string,
  options: NotifyOptions,
  context: Context,
): Promise<number> {
  const { output } = context
  await using server = await connect(existingConfigurationOf(context, options), context)
  const target = await targetOf(server.client, reference, context)
  const result = await server.client.call('testTarget', { params: { id: target.targetId } })
  const name = oneLine(target.name)
  const text = result.ok
    ? `${name} accepted the test alert.`
    : `${name} did not accept the test alert: ${oneLine(result.error ?? 'unknown error')}`
  printResult(output, options.json, { value: result, text })
  return result.ok ? 0 : 1
}

export async function removeTarget(
  reference: string,
  options: NotifyOptions,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const target = await targetOf(server.client, reference, context)
  await server.client.call('removeTarget', { params: { id: target.targetId } })
  const text = `Removed ${oneLine(target.name)} (${target.targetId}).`
  return printResult(context.output, options.json, { value: target, text })
}

async function targetOf(client: Client, reference: string, { commandLine }: Context): Promise<Target> {
  return referredTo((await client.call('listTargets')).targets, reference, {
    one: 'target',
    many: 'targets',
    id: ({ targetId }) => targetId,
    name: ({ name }) => name,
    list: commandLine('notify list'),
  })
}
