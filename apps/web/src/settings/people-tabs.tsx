import { Lazy, lazyPart } from '../parts/lazy-part.tsx'

const people = lazyPart(() => import('./people-section.tsx'))
const tokens = lazyPart(() => import('./tokens-section.tsx'))

export function PeopleTab() {
  return <Lazy part={people}>{(PeopleSection) => <PeopleSection />}</Lazy>
}

export function TokensTab() {
  return <Lazy part={tokens}>{(TokensSection) => <TokensSection />}</Lazy>
}
