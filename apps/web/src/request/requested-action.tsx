import { commandOf, requestedDiffs } from '@parley/protocol'
import { relativePath, visible } from '../base/format.logic.ts'
import { CommandText } from '../call/call-detail.tsx'
import { asJson, isEmpty, planOf } from '../call/call-text.logic.ts'
import { DiffList } from '../parts/diff/diff-view.tsx'
import { TextWithPaths } from '../parts/file-link.tsx'
import { LongText } from '../parts/long-text.tsx'
import { LazyMarkdown } from '../parts/markdown/lazy-markdown.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { type OpenPermission, otherFields, plainFields } from './choices.logic.ts'

/** The command or change that the permission would allow. */
export function RequestedAction({ request, folder }: { request: OpenPermission; folder: string }) {
  const command = commandOf(request.input)
  const diffs = requestedDiffs(request)
  if (request.kind === 'plan') return <PlanText input={request.input} />
  if (diffs.length > 0) {
    return (
      <>
        <DiffList diffs={diffs} folder={folder} />
        <OtherFields fields={otherFields(request.input, 'diff')} />
      </>
    )
  }
  if (command !== undefined) {
    return (
      <>
        <CommandText command={command} />
        <OtherFields fields={otherFields(request.input)} />
      </>
    )
  }
  return (
    <div>
      <p className="text-sm font-medium [overflow-wrap:anywhere]">
        <TextWithPaths text={visible(relativePath(request.title, folder))} />
      </p>
      <PlainInput input={request.input} title={request.title} />
    </div>
  )
}

/** The input of a call that is neither a command nor an edit. */
function PlainInput({ input, title }: { input: unknown; title: string }) {
  const fields = plainFields(input, title)
  if (isEmpty(input) || fields?.length === 0) return null
  return (
    <ScrollRegion label="Input" className="mt-1 max-h-60 overflow-y-auto rounded-md bg-sunk">
      {fields ? (
        <dl className="px-2.5 py-2 text-sm">
          {fields.map(([name, value]) => (
            <div key={name} className="flex gap-x-3 py-0.5 max-md:flex-col">
              <dt className="shrink-0 text-xs leading-5 text-soft md:w-24">{labelOf(name)}</dt>
              <dd className="min-w-0 whitespace-pre-wrap [overflow-wrap:anywhere]">
                <LongText text={visible(value)} />
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <pre className="terminal px-2.5 py-2">
          <LongText text={visible(asJson(input))} />
        </pre>
      )}
    </ScrollRegion>
  )
}

function PlanText({ input }: { input: unknown }) {
  const plan = planOf(input)
  if (plan !== undefined) return <LazyMarkdown text={plan} />
  return <p className="text-sm text-soft">The plan is in the conversation above.</p>
}

const fieldLabels: Readonly<Record<string, string>> = {
  description: 'Why',
  instruction: 'Why',
  prompt: 'Prompt',
  query: 'Query',
  pattern: 'Pattern',
  url: 'URL',
  file_path: 'File',
  filePath: 'File',
  path: 'Path',
}
const labelOf = (name: string) => fieldLabels[name] ?? visible(name)

/** The remaining input fields. They are shown because a field may be a flag that disables the sandbox. */
function OtherFields({ fields }: { fields: ReturnType<typeof otherFields> }) {
  if (fields.length === 0) return null
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-0.5 px-1 pt-1.5 text-xs text-soft">
      {fields.map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-faint">{labelOf(name)}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{visible(value)}</dd>
        </div>
      ))}
    </dl>
  )
}
