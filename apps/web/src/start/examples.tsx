import { focusPrompt } from '../base/focus.ts'
import { useStore } from '../base/store.ts'
import { examplesFor } from './examples.logic.ts'
import type { SessionChoices } from './session-choices.ts'

/** Example prompts. Their space stays reserved while a prompt is written, so that nothing moves. */
export function Examples({ choices: { agent, draft } }: { choices: SessionChoices }) {
  const empty = useStore(draft, (text) => text.trim() === '')
  return (
    <ul aria-label="Examples" className={`flex min-h-8 flex-wrap gap-1.5 pt-3 ${empty ? '' : 'invisible'}`}>
      {examplesFor(agent?.id).map((text) => (
        <li key={text}>
          <button
            type="button"
            onClick={() => {
              draft.set(text)
              focusPrompt()
            }}
            className="min-h-7 rounded-full border border-line px-3 text-left text-sm text-soft hover:bg-hover hover:text-ink pointer-coarse:min-h-11"
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  )
}
