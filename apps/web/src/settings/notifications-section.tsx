import type { Target, TargetPatch } from '@parley/protocol'
import { useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { useFocusFallback } from '../base/focus.ts'
import { agoInWords, visible } from '../base/format.logic.ts'
import { pushProblem, startPush, stopPush } from '../base/push.ts'
import { pushMark } from '../base/push-mark.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { AddForm } from './add-form.tsx'
import { Labelled, Select } from './form-parts.tsx'
import { Section } from './section.tsx'
import { alertsOf, choiceOf, choices, details, emptyTarget, targetOf } from './target-form.logic.ts'
import { useServerList } from './use-server-list.ts'

const listTargets = () => client.call('listTargets').then(({ targets }) => targets)
const changedListeners = new Set<() => void>()
const targetsChanged = () => {
  for (const listener of changedListeners) listener()
}

const problems = {
  insecure: 'Browsers allow notifications only on pages over HTTPS, or from this machine.',
  'not-installed':
    'On an iPhone or iPad, first add this page to the home screen: Share, then Add to Home Screen. Open it from there and turn notifications on.',
  unsupported: 'This browser cannot get notifications from a server.',
}

/** Turns pushes to this browser on and off. The browser asks for the permission only after a press of the button. */
export function PushSection() {
  const [isOn, setIsOn] = useState(() => pushMark() !== undefined)
  const [isBusy, setIsBusy] = useState(false)
  const [isDenied, setIsDenied] = useState(() => !pushProblem() && Notification.permission === 'denied')
  const problem = pushProblem()
  const change = async (work: () => Promise<void>) => {
    setIsBusy(true)
    await work().catch(toastError)
    setIsBusy(false)
    setIsOn(pushMark() !== undefined)
    targetsChanged()
  }
  const turnOn = () =>
    change(async () => {
      const permission = await Notification.requestPermission()
      setIsDenied(permission === 'denied')
      if (permission === 'granted') await startPush()
    })
  const turnOff = () =>
    change(async () => {
      await stopPush()
      const own = (await listTargets()).filter(({ current }) => current)
      for (const { targetId } of own) await client.call('removeTarget', { params: { id: targetId } })
    })
  return (
    <Section
      title="Notifications on this browser"
      purpose="Tells you that a session needs your answer or has ended, even when this page is closed. Nothing is sent while you look at a page of the console. The content is encrypted for this browser."
    >
      {problem ? (
        <p className="text-sm text-pretty text-soft">{problems[problem]}</p>
      ) : isDenied ? (
        <p className="text-sm text-pretty text-soft">
          This browser blocks notifications from this page. Allow them in the settings of the browser, then
          reload.
        </p>
      ) : (
        <Button
          look={isOn ? 'danger' : 'primary'}
          disabled={isBusy}
          onClick={() => void (isOn ? turnOff() : turnOn())}
        >
          {isOn ? 'Turn off on this browser' : 'Turn on for this browser'}
        </Button>
      )}
    </Section>
  )
}

/** The targets of alerts, each with the last attempt to send an alert. */
export function TargetsSection() {
  const { list: targets, reload, change } = useServerList(listTargets)
  const [secret, setSecret] = useState<string>()
  const mayAdd = useMay('admin')
  useEffect(() => {
    changedListeners.add(reload)
    return () => void changedListeners.delete(reload)
  }, [reload])
  return (
    <Section
      title="Alert targets"
      purpose="Browsers, webhooks and ntfy topics. Each was added by a browser or a token, and gets alerts only about sessions that this browser or token may read."
    >
      {targets?.length === 0 && (
        <p className="text-sm">{mayAdd ? 'No targets yet.' : 'None of your browsers gets alerts.'}</p>
      )}
      <ul className="flex flex-col gap-2">
        {targets?.map((target) => (
          <TargetRow key={target.targetId} target={target} change={change} />
        ))}
      </ul>
      {secret !== undefined && <Secret secret={secret} />}
      {mayAdd && <AddTarget onAdded={reload} onSecret={setSecret} />}
    </Section>
  )
}

function Secret({ secret }: { secret: string }) {
  return (
    <div role="status" className="mt-3 rounded-lg border border-edge bg-card p-3.5 text-sm">
      <p className="text-pretty">
        This secret signs the requests to the webhook (Standard Webhooks). It is not shown again.
      </p>
      <p className="flex items-center gap-2 pt-2">
        <code className="min-w-0 flex-1 font-mono [overflow-wrap:anywhere]">{secret}</code>
        <CopyButton text={() => secret} label="Copy secret" />
      </p>
    </div>
  )
}

const kindNames = { push: 'Browser', webhook: 'Webhook', ntfy: 'ntfy topic' }

type RowProps = { target: Target; change: (work: () => Promise<unknown>) => void }

function TargetRow({ target, change }: RowProps) {
  const { targetId, kind, address, current, disabledAt } = target
  const row = useRef<HTMLLIElement>(null)
  useFocusFallback(row)
  const params = { id: targetId }
  const name = visible(target.name)
  const patch = (body: TargetPatch) => change(() => client.call('patchTarget', { params, body }))
  const test = () =>
    change(async () => {
      const { ok, error } = await client.call('testTarget', { params })
      toast(ok ? `${name} accepted the test alert.` : `The test alert to ${name} failed: ${error}`)
    })
  const remove = () =>
    change(async () => {
      if (current) await stopPush()
      await client.call('removeTarget', { params })
      toast(`Removed ${name}.`)
    })
  const choice = choiceOf(target)
  return (
    <li
      ref={row}
      className="flex flex-col gap-2.5 rounded-lg border border-line bg-card px-3.5 py-2.5 text-sm"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <span className="min-w-0 flex-1 basis-56">
          <span className="block [overflow-wrap:anywhere]">
            {name}
            {current && <span className="text-soft"> (this browser)</span>}
          </span>
          <span className="block text-xs text-soft [overflow-wrap:anywhere]">
            {kindNames[kind]} · {visible(address)}
          </span>
          <Last target={target} />
        </span>
        <span className="flex gap-1">
          <Button aria-label={`Test ${name}`} onClick={test}>
            Test
          </Button>
          <Button
            aria-label={`${disabledAt === undefined ? 'Pause' : 'Resume'} ${name}`}
            onClick={() => patch({ disabled: disabledAt === undefined })}
          >
            {disabledAt === undefined ? 'Pause' : 'Resume'}
          </Button>
          <Button look="danger" aria-label={`Remove ${name}`} onClick={remove}>
            Remove
          </Button>
        </span>
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <Labelled label="Alerts about">
          <Select
            value={choice}
            options={choice === 'some' ? [...choices, ['some', target.alerts.join(', ')]] : choices}
            onChoose={(chosen) => patch({ alerts: alertsOf(chosen) })}
          />
        </Labelled>
        <Labelled label="Content">
          <Select
            value={target.detail}
            options={details}
            onChoose={(detail) => patch({ detail: detail as Target['detail'] })}
          />
        </Labelled>
      </div>
    </li>
  )
}

function Last({ target: { disabledAt, last } }: { target: Target }) {
  const now = useNow()
  return (
    <span className="block text-xs [overflow-wrap:anywhere]">
      {disabledAt !== undefined && <span className="text-wait">Paused. </span>}
      {last === undefined && <span className="text-faint">Nothing sent yet.</span>}
      {last?.ok && <span className="text-faint">Last sent {agoInWords(last.at, now)}.</span>}
      {last && !last.ok && (
        <span className="text-bad">
          Failed {agoInWords(last.at, now)}: {visible(last.error ?? 'unknown error')}
        </span>
      )}
    </span>
  )
}

function AddTarget({ onAdded, onSecret }: { onAdded: () => void; onSecret: (secret?: string) => void }) {
  const send = async (body: Parameters<typeof client.call<'createTarget'>>[1]['body']) => {
    onSecret(undefined)
    const { secret } = await client.call('createTarget', { body })
    onSecret(secret)
  }
  return (
    <AddForm
      button="Add a webhook or an ntfy topic"
      label="New target"
      empty={emptyTarget}
      read={targetOf}
      send={send}
      onAdded={onAdded}
    >
      {({ fields, write, text }) => (
        <div className="grid gap-3 sm:grid-cols-2">
          <Labelled label="Kind">
            <Select
              value={fields.kind}
              options={[
                ['webhook', 'Webhook'],
                ['ntfy', 'ntfy topic'],
              ]}
              onChoose={(kind) => write({ kind })}
            />
          </Labelled>
          {text('name', 'Name (optional)', 'ops')}
          {text(
            'url',
            'Address',
            fields.kind === 'ntfy' ? 'https://ntfy.sh/topic' : 'https://example.org/hook',
            { first: true },
          )}
          {fields.kind === 'ntfy' && text('token', 'Access token (optional)', '', { secret: true })}
        </div>
      )}
    </AddForm>
  )
}
