import type { Registry } from './registry.ts'

/** The commands for the targets of alerts. */
export function addNotify({ add, under, run }: Registry): void {
  const load = () => import('../commands/notify.ts')
  const notify = add(
    'notify',
    'list the targets of alerts about sessions; add and test webhooks and ntfy topics',
    'parley notify',
    'parley notify add webhook https://example.org/hook --detail full',
    'parley notify add ntfy https://ntfy.sh/my-topic --on request.waiting,turn.failed',
    'parley notify test tgt_01k2',
  )
    .option('--json', 'print one target per line, as JSON')
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText(
      'after',
      `
A browser adds itself, in the console under Settings, Notifications.`,
    )
    .action(run(async () => (await load()).listTargets))
  const more = under(notify)
  const target = ['<target>', 'the name of the target, its id, or the beginning of the id'] as const
  more('list', 'list the targets of alerts, with the last attempt of each', 'parley notify list')
    .option('--json', 'print one target per line, as JSON')
    .action(run(async () => (await load()).listTargets))
  more(
    'add',
    'send alerts to a webhook or an ntfy topic; prints the secret of a webhook once',
    'parley notify add webhook https://example.org/hook',
    'NTFY_TOKEN=tk_… parley notify add ntfy https://ntfy.example.org/parley',
  )
    .argument('<kind>', 'webhook or ntfy')
    .argument('<url>', 'the address of the webhook, or of the topic')
    .option(
      '--name <name>',
      'a name, by which people recognise the target (default: the host of the address)',
    )
    .option(
      '--on <kinds>',
      'request.waiting, request.resolved, turn.ended, turn.failed, separated by commas (default: all)',
    )
    .option('--detail <detail>', 'none, title or full (default: title)')
    .option('--json', 'print the target, with the secret of a webhook, as JSON')
    .addHelpText(
      'after',
      `
The access token of an ntfy server is read from NTFY_TOKEN.`,
    )
    .action(run(async () => (await load()).addTarget))
  more('test', 'send a test alert now, and print the result', 'parley notify test ops')
    .argument(...target)
    .option('--json', 'print the result as JSON')
    .action(run(async () => (await load()).testTarget))
  more('remove', 'remove a target, which then gets no more alerts', 'parley notify remove ops')
    .argument(...target)
    .option('--json', 'print the removed target as JSON')
    .action(run(async () => (await load()).removeTarget))
}
