import { type RefObject, startTransition, useEffect, useState } from 'react'
import { highlight } from '../parts/code/highlight.ts'
import type { Hunk } from '../parts/diff/lines.logic.ts'
import { type Colours, coloursOf, languageOf, type Side, sidesOf } from './colours.logic.ts'

/** How long lines must be in view before they are highlighted: scrolling past does not occupy the worker. */
const lingerMs = 150

/** The tokens of the lines, computed by the worker once the lines are in view. They do not change the layout. */
export function useColours(
  path: string,
  hunks: readonly Hunk[],
  place: RefObject<HTMLElement | null>,
): Colours | undefined {
  const [colours, setColours] = useState<Colours>()
  const language = languageOf(path)
  const inView = useWasInView(place)
  useEffect(() => {
    if (!language || !inView) return
    let wanted = true
    const sides = sidesOf(hunks)
    const tokens = ({ code }: Side) => (code === '' ? undefined : highlight(code, language))
    void Promise.all([tokens(sides.after), tokens(sides.before)]).then(([after, before]) => {
      const found = coloursOf(sides, { after, before })
      if (wanted && found) startTransition(() => setColours(found))
    })
    return () => {
      wanted = false
    }
  }, [hunks, language, inView])
  return colours
}

function useWasInView(place: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(false)
  useEffect(() => {
    if (!place.current) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new IntersectionObserver((entries) => {
      clearTimeout(timer)
      if (entries.at(-1)?.isIntersecting) timer = setTimeout(() => setInView(true), lingerMs)
    })
    observer.observe(place.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [place])
  return inView
}
